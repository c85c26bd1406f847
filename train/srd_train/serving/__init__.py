"""Serving: trained rankers read from their folders, ranking topics as they come."""
