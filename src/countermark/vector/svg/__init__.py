"""SVG read into the native document; what is not carried over is named, nothing outside the file is followed."""
