"""The experiments behind pages of the documentation, run from the checkout: `make speed`."""
