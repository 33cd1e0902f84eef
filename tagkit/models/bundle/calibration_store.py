"""Writing a model's calibration into its folder; `bundle.load_bundle` reads it."""

from pathlib import Path

from tagkit.errors import BundleError
from tagkit.models.base.calibration import KEY, ModelCalibration
from tagkit.models.bundle.bundle import metadata_bytes, read_metadata
from tagkit.storage import METADATA, write_whole
from tagkit.wording import reason


def store_calibration(folder: Path, calibration: ModelCalibration | None) -> None:
    """Replace the calibration of the model in a folder; None removes it.

    The metadata are written beside and renamed. All else in them, and the other files, stay.

    Args:
        folder: of the model itself, as `bundle.find_bundle` gives it.
        calibration: of its heads.

    Raises:
        BundleError: the metadata cannot be read or written.
    """
    metadata = read_metadata(folder)
    metadata.pop(KEY, None)
    if calibration is not None:
        metadata[KEY] = calibration.to_dict()
    try:
        write_whole(folder / METADATA, metadata_bytes(metadata))
    except OSError as error:
        raise BundleError(f"{folder}: cannot be written: {reason(error)}") from None
