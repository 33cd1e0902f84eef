"""The one place that writes files and folders: each is complete, or it is not there.

Everything is written under a temporary name beside its destination, flushed to the disk, and then
renamed. rename(2) is atomic within one file system (POSIX.1-2017: a process that opens the name
finds either the old file or the new one), so a crash, a full disk or a power failure leaves one of
the two and never a mixture. A file that is replaced keeps its mode; a symbolic link stays, and its
target is replaced; a device or a named pipe is written to directly and stays what it is.

    files        files and folders, written completely, then renamed
    partial      outputs that are kept where they are not completed
    places       what is at a path, and whether an output may be written there; digests
    lock         one process at a time in a folder
    run_names    what shows that a folder is that of a run
"""

from tagkit.storage.files import BYTE_ORDER_MARK as BYTE_ORDER_MARK
from tagkit.storage.files import PACKED as PACKED
from tagkit.storage.files import OutputWriter as OutputWriter
from tagkit.storage.files import encoded as encoded
from tagkit.storage.files import make_folder as make_folder
from tagkit.storage.files import new_folder as new_folder
from tagkit.storage.files import open_output as open_output
from tagkit.storage.files import replace_lone_surrogates as replace_lone_surrogates
from tagkit.storage.files import restore_set_aside as restore_set_aside
from tagkit.storage.files import scratch_folder as scratch_folder
from tagkit.storage.files import set_aside as set_aside
from tagkit.storage.files import whole_folder as whole_folder
from tagkit.storage.files import write_of_run as write_of_run
from tagkit.storage.files import write_whole as write_whole
from tagkit.storage.partial import Unfinished as Unfinished
from tagkit.storage.partial import partial_names as partial_names
from tagkit.storage.places import RESUME_AFTER as RESUME_AFTER
from tagkit.storage.places import cannot_write as cannot_write
from tagkit.storage.places import digest_of as digest_of
from tagkit.storage.places import digest_of_bytes as digest_of_bytes
from tagkit.storage.places import write_remedy as write_remedy
from tagkit.storage.run_names import BEST as BEST
from tagkit.storage.run_names import CURVE as CURVE
from tagkit.storage.run_names import HISTORY as HISTORY
from tagkit.storage.run_names import LAST as LAST
from tagkit.storage.run_names import LOCK as LOCK
from tagkit.storage.run_names import MANIFEST as MANIFEST
from tagkit.storage.run_names import METADATA as METADATA
from tagkit.storage.run_names import WEIGHTS as WEIGHTS
from tagkit.storage.run_names import holds_model as holds_model
