"""The documentation's tables, sentences and pictures of results, made from the scores beside its pages."""
