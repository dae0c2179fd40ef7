"""Runs: look, plan, do, prove, report. The only place that joins the plug-ins."""
