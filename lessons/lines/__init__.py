"""What several lessons say and show of lines between networks: `numbers` and `panels` of any sweep over pairs, α and
layers."""
