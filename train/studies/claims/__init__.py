"""What the documentation says of results, held against the scores that lie beside its pages (`make results`)."""
