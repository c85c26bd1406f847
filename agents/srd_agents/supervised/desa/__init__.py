"""DESA: self-attention over documents and over subtopics scores each document once; trained on pairs in context."""
