"""Verify a folder against its receipt: python verify_receipt.py FOLDER PUBLIC_KEY.pem"""  # noqa: INP001, D400, D415

import hashlib
import json
import sys
from pathlib import Path

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

folder, pem = map(Path, sys.argv[1:])
key = SSlibKey.from_crypto(load_pem_public_key(pem.read_bytes()))
envelope = Envelope.from_dict(json.loads((folder / "receipt.json").read_bytes()))
envelope.verify([key], threshold=1)  # raises unless this key signed exactly this payload
wanted = {subject["name"]: subject["digest"]["sha256"] for subject in json.loads(envelope.payload)["subject"]}
files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if not path.is_dir()}
found = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items() if name != "receipt.json"}
wrong = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
sys.exit(f"changed, missing or extra: {', '.join(wrong)}" if wrong else 0)
