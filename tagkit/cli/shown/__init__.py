"""What people see of a command: headers, progress, reports, as lines of a terminal."""
