"""Serving: trained rankers read from their folders, ranking topics one after the other."""
