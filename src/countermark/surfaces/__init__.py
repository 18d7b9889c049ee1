"""The faces of Countermark: the only place that wires domains to people and programs."""
