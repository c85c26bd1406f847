"""How soon rankers become good, with and without pruning: the convergence pages of docs/results."""
