"""Language models as rankers: a list at a time, or a document at a time; the client is the caller's."""
