"""Optimizers, schedules, averages, precision."""
