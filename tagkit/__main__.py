"""`python -m tagkit`, which launchers of several processes need."""

from tagkit.cli.main import main

if __name__ == "__main__":
    main()
