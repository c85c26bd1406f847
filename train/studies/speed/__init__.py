"""Speed side by side with peers: docs/speed.md."""
