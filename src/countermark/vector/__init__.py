"""Brand documents: paths, paint, swatches, artboards and their exchange with other formats (seed 1 §5)."""
