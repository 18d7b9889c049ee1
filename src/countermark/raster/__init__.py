"""Pictures as evidence: decode a PNG, render an SVG with the judge engine, measure how far two pictures differ."""
