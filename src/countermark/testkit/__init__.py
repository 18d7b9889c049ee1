"""The test kit: what a domain needs to show that its effects survive lost replies, kills and bad disks.

`disk` stands in for the system under `countermark.kernel.files.Root`: one disk that forgets what was not synced, one
that fails where it is told to. Each module says how to use it; nothing here is imported by the package itself.
"""
