"""The built page of Countermark's scenes: files beside this module, in `dist/`."""
