"""The weights that come with the package, made again."""
