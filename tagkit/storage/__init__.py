"""The one place that writes files and folders: each is complete, or it is not there.

Everything is written under a temporary name beside its destination, flushed to the disk, and then
renamed. rename(2) is atomic within one file system (POSIX.1-2017: a process that opens the name
finds either the old file or the new one), so a crash, a full disk or a power failure leaves one of
the two and never a mixture. A file that is replaced keeps its mode; a symbolic link stays, and its
target is replaced; a device or a named pipe is written to directly and stays what it is.

    files, folders    written completely, then renamed
    places            what is at a path, and whether an output may be written there
    temporary         temporary names, and the removal of those that a killed process left
    disk              flushing to the disk, digests
    lock              one process at a time in a folder
    run_names         what shows that a folder is that of a run
"""

from tagkit.storage.disk import RESUME_AFTER, cannot_write, digest_of, digest_of_bytes, write_remedy
from tagkit.storage.files import (
    BYTE_ORDER_MARK,
    PACKED,
    encoded,
    open_output,
    replace_lone_surrogates,
    write_whole,
)
from tagkit.storage.folders import (
    make_folder,
    new_folder,
    restore_set_aside,
    scratch_folder,
    set_aside,
    whole_folder,
)
from tagkit.storage.run_names import (
    BEST,
    CURVE,
    HISTORY,
    LAST,
    LOCK,
    MANIFEST,
    METADATA,
    WEIGHTS,
    holds_model,
)

__all__ = [
    "BEST",
    "BYTE_ORDER_MARK",
    "CURVE",
    "HISTORY",
    "LAST",
    "LOCK",
    "MANIFEST",
    "METADATA",
    "PACKED",
    "RESUME_AFTER",
    "WEIGHTS",
    "cannot_write",
    "digest_of",
    "digest_of_bytes",
    "encoded",
    "holds_model",
    "make_folder",
    "new_folder",
    "open_output",
    "replace_lone_surrogates",
    "restore_set_aside",
    "scratch_folder",
    "set_aside",
    "whole_folder",
    "write_remedy",
    "write_whole",
]
