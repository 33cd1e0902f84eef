"""`tagkit info`."""

import typer

from tagkit.cli.program.options import AsJson, Model
from tagkit.text.json_text import to_json

EXAMPLES = """\
Example:
  tagkit info models/travel
"""


def info_command(model: Model, as_json: AsJson = False) -> None:
    """Describe a model and its scores.

    The digests, names and shapes of the whole model are checked.
    """
    # Imported here: `--help` must not wait for torch.
    from tagkit.cli.program.messages import show_lines
    from tagkit.cli.shown.reports import info_lines
    from tagkit.models.bundle.bundle import load_bundle
    from tagkit.models.folder.parts import find_bundle, is_last

    bundle = load_bundle(model)
    if as_json:
        facts = {**bundle.metadata, "config": bundle.config.model_dump(mode="json")}
        if columns := bundle.vocabulary.columns:
            facts["columns"] = [each.to_dict() for each in columns]
        typer.echo(to_json(facts))
    else:
        is_unscored = is_last(find_bundle(model), model)
        name = f"{model} (last/, as no epoch of the run has been scored)" if is_unscored else model
        show_lines(info_lines(str(name), bundle))
