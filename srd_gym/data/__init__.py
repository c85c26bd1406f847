"""Topic sets from everywhere: TREC files, AMBIENT, MDP-DIV's and DU-DIV's files, Parquet, and a generator."""
