"""The one place that writes files and folders: each is whole or not there.

What is written stands beside its place, is forced to the disk, and is renamed into it: a crash, a
full disk or a loss of power leaves the old one or the new one. A file that is replaced keeps its
mode; a symbolic link stays, and its target is replaced; what is no regular file (a device, a named
pipe) is written through and stays what it is.

    files, folders    written completely, then renamed
    places            what is at a place, and whether something can be written there
    temporary         what stands beside a place until it is complete
    disk              forcing to the disk, digests
    lock              one process at a time in a folder
"""

from tagkit.storage.disk import cannot_write, digest_of
from tagkit.storage.files import BYTE_ORDER_MARK, encoded, open_output, without_halves, write_whole
from tagkit.storage.folders import make_folder, new_folder, set_aside, whole_folder

__all__ = [
    "BYTE_ORDER_MARK",
    "cannot_write",
    "digest_of",
    "encoded",
    "make_folder",
    "new_folder",
    "open_output",
    "set_aside",
    "whole_folder",
    "without_halves",
    "write_whole",
]
