"""Puts a claim of a process on another machine in the place of each image in a cache's folder: usage: abandon_claims.py FOLDER."""
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
for image in [file for part in folder.glob("??") for file in part.iterdir()]:
    (folder / "claims" / (image.parent.name + image.name)).write_text("0123456789abcdef.1.1.x")
    image.unlink()
