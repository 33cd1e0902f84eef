"""Deliberate breaks of the training code: each is noticed by the test that is named beside it.

A copy of the package is broken in one place, and the test is run with it. A break whose text is no
longer in the module fails here too: then the module was changed, and the break is to be adapted.
"""

import os
import shutil
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from forked_pytest import processes, run

TESTS = Path(__file__).parents[1]
PACKAGE = TESTS.parent / "tagkit"


class Break(NamedTuple):
    """Text of a module that is replaced by another, and the test that fails for it."""

    module: str
    old: str
    new: str
    test: str


BREAKS = [
    # Modes of the model.
    Break("trainer", "        model.train()\n", "", "trainer::test_steps_are_taken_in"),
    Break("sentence_batches", "            self._model.eval()\n", "            pass\n",
          "trainer::test_steps_are_taken_in"),
    # Learning rates, and the decay of the mean.
    Break("lr_schedule", "max(1, self.total_steps - settings.warmup_steps)",
          "max(1, self.total_steps)", "trainer::test_the_schedules_have_the"),
    Break("lr_schedule", "(step - settings.warmup_steps) / left", "step / left",
          "trainer::test_the_schedules_have_the"),
    Break("lr_schedule", "left / max(1.0, _ENDING * self.fitting_steps)", "left",
          "lr_schedule::test_a_rate_that_falls_is_zero"),
    Break("time_budget", "left_s - of_epoch * step_s - epoch.ending_s",
          "left_s - of_epoch * step_s", "time_budget::test_steps_fit"),
    Break("time_budget", "            self._steps_s.clear()\n", "            pass\n",
          "time_budget::test_the_first_steps"),
    Break("run", "self.budget.steps >= COLD_STEPS and self._time_is_over()",
          "self._time_is_over()", "robustness::test_a_run_out_of_time"),
    Break("trainer", "            run.count_time(seconds, plan)\n", "",
          "time_budget::test_by_a_steady_clock"),
    Break("lr_schedule", "fixed(settings.lr) * self.factor * (step + 1)",
          "fixed(settings.lr) * (step + 1)",
          "lr_schedule::test_rates_rise_before_they_fall"),
    Break("lr_schedule", 'state["step"], state["waited"]', 'state["step"], 0',
          "lr_schedule::test_a_schedule_that_is_restored"),
    Break("lr_schedule", 'state["factor"], state["best"]', 'state["factor"], -1.0',
          "lr_schedule::test_a_schedule_that_is_restored"),
    Break("lr_schedule", 'state["factor"], state["best"]', '1.0, state["best"]',
          "lr_schedule::test_a_schedule_that_is_restored"),
    Break("state", "        self.schedule.after_epoch(score)\n", "",
          "trainer::test_a_plateau_on_dev_lowers"),
    Break("state", "self.step - self.position.done + len(steps) * epochs_left",
          "len(steps) * settings.max_epochs", "trainer::test_the_rate_falls_to_its_end"),
    Break("optimizer", '            group["lr"] = lr * group["share"]\n', "            pass\n",
          "optimizer::test_weight_decay_and_momentum"),
    Break("ema", "return decay_at(self.steps, self.decay)", "return self.decay",
          "ema::test_the_mean_of_the_weights_is"),
    Break("ema", "step / (step + 10)", "1", "ema::test_decay_rises"),
    # What a step is made of.
    Break("trainer", "scale(total / targets_per_step)", "scale(total)",
          "trainer::test_a_steps_gradient_is"),
    Break("state", "encoded.target_count / len(steps)", "encoded.target_count",
          "trainer::test_a_steps_gradient_is"),
    Break("encoding", "int(self.lengths.sum()) if per_token else len(self)",
          "int(self.lengths.sum())", "trainer::test_a_steps_gradient_is"),
    Break("trainer", "return float(sums[0]), int(sums[1])", "return float(sums[0]), len(batches)",
          "trainer::test_the_loss_of_an_epoch_is"),
    Break("state", "position.targets += targets", "position.targets += len(batches)",
          "trainer::test_the_loss_of_an_epoch_is"),
    Break("state", "            position.loss += loss\n",
          "            position.loss += 2 * loss\n", "state::test_the_loss_of_an_epoch_leaves"),
    Break("state", "            self.consecutive_nonfinite = 0\n", "            pass\n",
          "state::test_the_loss_of_an_epoch_leaves"),
    Break("trainer", "                optimizer.zero_grad()\n", "",
          "micro_batches::test_gradients_of_an_attempt"),
    Break("micro_batches", "pieces(own, self._documents, self.parts)",
          "pieces(own, self._documents, self.parts)[:2]",
          "micro_batches::test_pieces_are_of_sizes"),
    Break("document_batches", "return indices[rank::count]", "return indices[rank:]",
          "distributed::test_two_processes_with_half"),
    Break("micro_batches", "self.parts *= 2", "self.parts += 2",
          "micro_batches::test_gradients_of_an_attempt"),
    Break("micro_batches", "        if probability:\n", "        if False:\n",
          "micro_batches::test_words_that_occur_once"),
    Break("optimizer", '"weight_decay": settings.weight_decay}', '"weight_decay": 0.0}',
          "optimizer::test_weight_decay_and_momentum"),
    Break("optimizer", 'options["momentum"] = settings.momentum', 'options["momentum"] = 0.9',
          "optimizer::test_weight_decay_and_momentum"),
    Break("optimizer", "            clip_grad_value_(dense, limit)\n", "",
          "robustness::test_gradients_can_be_cut"),
    Break("optimizer", "gradient.clamp_(-limit, limit)", "gradient.clamp_(max=limit)",
          "optimizer::test_rows_alone_end_as"),
    Break("optimizer", "gradient.mul_(coefficient)", "pass", "optimizer::test_rows_alone_end_as"),
    Break("optimizer", "            scaler.unscale_(self.optimizer)\n", "            pass\n",
          "optimizer::test_fp16_finds_its_scale"),
    Break("optimizer", "processes == 1 and _suits_row_adam(", "_suits_row_adam(",
          "optimizer::test_only_rows_are_updated"),
    Break("optimizer", "                table.weight.grad[table.padding_idx] = 0\n",
          "                pass\n", "padding_rows::test_padding_and_pretrained"),
    Break("optimizer", "            if not parameter.requires_grad:\n", "            if False:\n",
          "fine_tuning::test_what_is_frozen"),
    # Heads and their losses.
    Break("joint", "self.class_loss * of_classes, tokens", "of_classes, tokens",
          "joint::test_the_losses_of_tags_and"),
    Break("joint", "of_tags + self.class_loss * of_classes",
          "self.class_loss * of_tags + of_classes",
          "joint::test_the_losses_of_tags_and"),
    Break("joint", "        return of_tags + ",
          "        tokens = torch.tensor(len(mask))\n        return of_tags + ",
          "joint::test_the_losses_of_tags_and"),
    Break("model", "states.device.type, enabled=False)", "states.device.type, torch.bfloat16)",
          "model::test_in_mixed_precision"),
    Break("model", "own, ended = states.float(), final.float()", "own, ended = states, final",
          "model::test_in_mixed_precision"),
    Break("model", "alone(own, number, members), alone", "alone(own, 0, members), alone",
          "member::test_each_member_learns"),
    Break("ensemble", "pad(states * members, (", "pad(states, (",
          "ensemble::test_a_linear_layer_gives"),
    # The best epoch, and what is saved.
    Break("run", "self._rank(score) > self._rank", "self._rank(score) >= self._rank",
          "trainer::test_of_epochs_that_score"),
    Break("run", "return loss is not None or best.dev_loss is None", "return False",
          "trainer::test_as_long_as_epochs"),
    Break("training/run_end", "    state.load_best()\n", "", "trainer::test_of_epochs_that_score"),
    Break("state", "self.best_place, self.best_weights = place, {}", "pass",
          "trainer::test_of_epochs_that_score"),
    Break("training/run_end", '    with state.optimizer.averaged():\n        run.save_model("last"',
          '    if True:\n        run.save_model("last"', "trainer::test_last_and_best_are"),
    Break("training/run_end",
          '    with state.optimizer.averaged():\n        run.folder.save_model("last"',
          '    if True:\n        run.folder.save_model("last"', "trainer::test_last_and_best_are"),
    Break("training/run_end", "feature_crf is not None and not is_scored:", "feature_crf is None:",
          "run_end::test_the_best_model_of_a_stopped"),
    Break("run", "                self.folder.remove_results()", "                pass",
          "run_end::test_a_finished_run_that_goes_on_loses"),
    Break("run", "        with state.optimizer.averaged():\n            dev",
          "        if True:\n            dev", "trainer::test_last_and_best_are"),
    Break("trainer", "run.evaluate(whole=False)", "run.evaluate(whole=True)",
          "robustness::test_a_run_out_of_time"),
    Break("callbacks", '"dev": "score"', '"dev": "loss", "loss": "score"',
          "resume::test_history_and_log"),
    # What a checkpoint holds.
    Break("micro_batches",
          '        self.generator.set_state(tensors["random.words"][rank].clone())\n', "",
          "state::test_random_generators"),
    Break("micro_batches", '        torch.set_rng_state(tensors["random.torch"][rank].clone())\n',
          "", "state::test_random_generators"),
    Break("optimizer", '        self.generator.set_state(tensors["dice"])\n', "",
          "state::test_random_generators"),
    Break("micro_batches", 'max(self.parts, int(tensors["pieces"][rank]))', "self.parts",
          "robustness::test_the_number_of_pieces"),
    Break("micro_batches", 'max(self.parts, int(tensors["pieces"][rank]))',
          'int(tensors["pieces"][rank])', "robustness::test_the_number_of_pieces"),
    Break("optimizer", '            mean.copy_(tensors[f"mean.{name}"])\n', "",
          "ema::test_a_mean_that_is_restored"),
    Break("optimizer", 'self.average.steps = int(tensors["steps"])', "self.average.steps = 0",
          "ema::test_a_mean_that_is_restored"),
    Break("run", "sound = on_schedule and not state.consecutive_nonfinite",
          "sound = on_schedule", "run::test_a_run_whose_last_step"),
    Break("run", "state.skipped, state.rollbacks = skipped, rollbacks",
          "state.rollbacks = rollbacks", "robustness::test_after_several_in_a_row"),
    Break("micro_batches", "prepared.config.train.seed + processes.rank",
          "prepared.config.train.seed", "micro_batches::test_each_process_drops"),
    Break("distributed", "dict.fromkeys(tensor.dtype for tensor in tensors)", "[torch.float64]",
          "distributed::test_two_processes_with_half"),
    # A model that begins with another's weights.
    Break("transfer", "old is None or tuple(labels[: len(old)]) != tuple(old)",
          "old is None",
          "transfer::test_a_head_of_more_tags"),
    Break("transfer", "words.vectors.numpy()", "words.vectors.roll(1, 0).numpy()",
          "transfer::test_pretrained_vectors_come"),
    Break("transfer", "            mine[key][PAD_ID] = 0", "            pass",
          "padding_rows::test_a_model_that_begins"),
    # The best of several.
    Break("several/study", "max(done, key", "max(done[::-1], key",
          "several/tune::test_of_trials_that_score"),
    Break("several/study", 'for trial in ended if trial.state == "done"',
          "for trial in ended if trial.dev is not None",
          "several/tune::test_of_trials_that_score"),
    Break("several/study", "self._rank(score) > self._rank(b", "self._rank(score) >= self._rank(b",
          "several/tune::test_of_trials_that_score"),
    Break("several/study", "            if is_best:\n", "            if True:\n",
          "several/tune::test_of_trials_that_score"),
    Break("several/study", "(self.config.train.seed + len(self._draws()))",
          "self.config.train.seed", "several/tune::test_of_trials_that_score"),
    Break("several/study", "if self._options(trial.params) not in tried:", "if True:",
          "several/tune::test_no_values_are_tried_twice"),
    Break("storage/files", "os.truncate(self.stream.fileno(), size)", "pass",
          "storage/files::test_of_a_write_that_fails"),
    Break("features/word_vectors", "Counter(count for count, _ in counts).most_common(1)[0]",
          "counts[0]", "features/word_vectors::test_a_broken_file_is_refused"),
    Break("seeds", "_score(trained) > _score(best)", "_score(trained) >= _score(best)",
          "seeds::test_of_seeds_that_score"),
    Break("seeds", "_score(trained) > _score(best)", "_score(trained) < _score(best)",
          "seeds::test_of_seeds_that_score"),
    Break("seeds", "left / shares if shares else _NO_TIME", "left if shares else _NO_TIME",
          "seeds::test_the_minutes_that_are_left"),
    Break("seeds", "left / shares if shares else _NO_TIME", "left / (shares or 1)",
          "seeds::test_a_resumed_seed_that_is_done"),
    Break("seeds", "        check_beforehand(config)\n", "        pass\n",
          "start_checks::test_what_cannot_be_trained_removes_nothing"),
    # Classes of few texts.
    Break("pooling", "self.scale = inputs**-0.5", "self.scale = 1.0",
          "pooling::test_every_pooling_is"),
    Break("bag_of_words", "slope = penalty * weight +", "slope = 0 * weight +",
          "bag_of_words::test_weights_are_those"),
    Break("bag_of_words", " & (of_text[:-1] == of_text[1:])", "",
          "bag_of_words::test_a_text_gets_the_same"),
    # Taggers of few sentences.
    Break("embedding", "(self.training and self.dropout.p) or ", "",
          "embedding::test_characters_are_dropped"),
    Break("nn/optimizers", "_HISTORY // (2 * max(1, count))", "_HISTORY",
          "nn/optimizers::test_many_weights_remember"),
    Break("feature_crf_fit", "slopes[1] += of_steps", "slopes[1] = of_steps",
          "feature_crf/feature_crf::test_weights_are_the_same_in_batches_and"),
    Break("lstm", "own.index_add_(0, rows, of_tokens)",
          "own.index_copy_(0, rows, of_tokens)",
          "lstm::test_a_row_that_several_tokens_read"),
    Break("feature_crf_fit", "loss = _PENALTY * torch", "loss = 0 * torch",
          "feature_crf/feature_crf::test_the_weights_are_those"),
    Break("feature_crf_fit", "slopes[0].addcmul_(of_valued, values)",
          "slopes[0].add_(of_valued)",
          "feature_crf/feature_crf::test_the_weights_are_those"),
    Break("feature_crf_fit", "weights * values, steps, of_vectors",
          "weights, steps, of_vectors",
          "feature_crf/feature_crf::test_the_weights_are_those"),
    Break("vector_clusters", "-2 * centroids.t()", "-1 * centroids.t()",
          "vector_clusters::test_each_vector_belongs"),
    Break("vector_clusters", "nearest(points) + 1) * known)", "nearest(points) + 1))",
          "vector_clusters::test_a_word_without"),
    Break("tagging/feature_crf", "border[1], border[2]", "border[1], border[1]",
          "tagging/feature_crf::test_what_is_read"),
    Break("feature_rows", "keys = cluster_keys(numbers)[:, :, [kind]]",
          "keys = cluster_keys(numbers)[:, [0, 2, 1]][:, :, [kind]]",
          "feature_rows::test_emissions_are"),
    Break("feature_crf_fit", "    before[torch.from_numpy(ends - lengths)] = 0\n", "",
          "feature_crf/feature_crf::test_the_weights_are_those"),
    Break("feature_crf_fit", "(cells + rows * len(crf.transitions))", "cells",
          "feature_crf/feature_crf::test_weights_are_the_same_however"),
    Break("feature_crf_fit", "zip(block.batches, found, strict=True)",
          "[(batch, of_emissions)]",
          "feature_crf/feature_crf::test_weights_are_the_same_in_batches_and"),
    Break("feature_crf_fit", "batches and tokens + more > most", "False",
          "feature_crf/feature_crf::test_weights_are_the_same_in_batches_and"),
    Break("setup/setup", "spans=sum(len(span_tuples(each.tags or ())) for", "spans=sum(0 for",
          "defaults::test_a_run_counts"),
    Break("joint", "reads_final = True", "reads_final = False",
          "model::test_final_states_are_dropped"),
    Break("row_adam", "addcmul_(lag, direction, value=-1)", "addcmul_(lag, direction)",
          "row_adam::test_rows_and_means"),
    Break("nn/padding", "index_fill(0, padding, 0)", "index_fill(0, padding, 1)",
          "nn/padding::test_padding_is_zero"),
    Break("feature_crf_fit", "np.repeat(times, group.keys.shape[1])",
          "np.repeat(1, times.size * group.keys.shape[1])",
          "feature_crf/feature_crf::test_of_more_pairs"),
    Break("crf_features", "return OWN, BEFORE, AFTER, _SHAPES, *others",
          "return OWN, BEFORE, AFTER, *others",
          "crf_features::test_each_feature_is_in_one_group"),
    Break("feature_rows", "padded[:, 0] = _START", "padded[:, 0] = _END",
          "feature_rows::test_emissions_are"),
    Break("feature_rows", "table[3 * before + 1]", "table[3 * before + 2]",
          "feature_rows::test_emissions_are"),
    Break("label_consistency", "        _move(beside, cells, numbers, share)\n", "        pass\n",
          "label_consistency::test_scores_are_those"),
    Break("crf_features", "_LOWER, _SHAPE, _SHOWN = 0, 1, slice(0, 4)",
          "_LOWER, _SHAPE, _SHOWN = 0, 0, slice(0, 4)",
          "crf_features::test_keys_are_equal"),
    Break("tagger", "        head = model.head_beside(_beside(context, batch))\n"
          "        paths,", "        head = model.head\n        paths,",
          "tagging/feature_crf::test_tags_confidences"),
    Break("crf/chain", "emissions=kept * self.emissions + share * other.emissions",
          "emissions=self.emissions + share * other.emissions",
          "chain::test_a_product_has"),
    Break("setup", "_FIT_SHARE * limit_s", "math.inf",
          "tagging/feature_crf::test_a_tenth"),
    Break("nn/optimizers", "                each.copy_(kept)\n", "                pass\n",
          "nn/optimizers::test_if_the_time"),
    Break("run_end", "fill_(SHARES[best])", "fill_(SHARES[0])",
          "run_end::test_the_share_that_is_best"),
    Break("run_end", "alone > together + margin", "alone > together",
          "run_end::test_the_share_that_is_best"),
    Break("training/run_end", "best = replace(best, score=score, scores=parts)", "pass",
          "run_end::test_dev_is_that"),
    Break("classifier", "    output = _with_bag(context, output, predictions)\n", "",
          "e2e/classification::test_probabilities_are_those"),
]  # fmt: skip


def module_of(package: Path, name: str) -> Path:
    """The one module of this name, in whatever room."""
    (path,) = package.rglob(f"{name}.py")
    return path


def file_of(test: str) -> Path:
    """The file of a test named FILE::START, or ROOM/FILE::START where two files have one name."""
    room, _, name = test.partition("::")[0].rpartition("/")
    (path,) = TESTS.rglob(f"{room or '*'}/test_{name}.py")
    return path


def arguments(package: Path, test: str) -> list[str]:
    """Those of pytest for one test; other tests of the same file are not run."""
    return [
        "-n", "0", "-x", "-q", "-p", "no:cacheprovider", "-m", "slow or not slow",
        "-c", str(TESTS.parent / "pyproject.toml"),
        # Of its own: several programs that number folders in one place may meet.
        f"--basetemp={package / 'temporary'}",
        "-k", test.partition("::")[2], str(file_of(test)),
    ]  # fmt: skip


def broken(folder: Path, number: int) -> str:
    """What is wrong with a break: it cannot be made, or no test notices it; empty if nothing."""
    change = BREAKS[number]
    package = folder / str(number)
    # With what is compiled: a module that is changed is compiled again, as its time is another.
    shutil.copytree(PACKAGE, package / "tagkit")
    path = module_of(package / "tagkit", change.module)
    source = path.read_text(encoding="utf-8")
    where = f"{change.module}.py: {change.old.strip()!r} -> {change.new.strip()!r}"
    if source.count(change.old) != 1:
        return f"{where}: found {source.count(change.old)} times, expected once"
    path.write_text(source.replace(change.old, change.new), encoding="utf-8")
    found = run(package, arguments(package, change.test))
    os.chdir(folder)
    shutil.rmtree(package)
    if found.status == 1 and "FAILED" in found.output and "no tests ran" not in found.output:
        return ""
    return f"{where}: not noticed by {change.test} (status {found.status})"


@pytest.mark.slow
def test_every_deliberate_break_is_noticed(tmp_path: Path) -> None:
    with processes(2) as pool:
        problems = list(pool.map(partial(broken, tmp_path), range(len(BREAKS))))
    assert [problem for problem in problems if problem] == []


def test_every_deliberate_break_can_be_made_and_names_a_test() -> None:
    for change in BREAKS:
        source = module_of(PACKAGE, change.module).read_text(encoding="utf-8")
        assert source.count(change.old) == 1, change
        name = change.test.partition("::")[2]
        tests = file_of(change.test).read_text(encoding="utf-8")
        assert tests.count(f"def {name}") == 1, change
