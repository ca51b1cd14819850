"""Flightplan inside launchers; each module needs that launcher's own package."""
