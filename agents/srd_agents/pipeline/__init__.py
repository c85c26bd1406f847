"""Parts that a search pipeline calls beside the rankers."""
