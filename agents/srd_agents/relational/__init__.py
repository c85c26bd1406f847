"""A ranker that knows relations only, and so serves vectors of any model: `relational`."""
