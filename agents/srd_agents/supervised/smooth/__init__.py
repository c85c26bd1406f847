"""DALETOR and MO4SRD: documents are scored together and sorted once; a smooth measure trains the scores."""
