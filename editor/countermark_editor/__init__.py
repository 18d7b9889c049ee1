"""The built page of Countermark's scenes, in `dist/`, and the editor's export for Node, in `render/`."""
