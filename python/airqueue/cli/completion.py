"""`airqueue completion`: what a shell needs in order to complete commands, options and names."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

_SHELLS: Final = ("bash", "zsh", "fish")
_VARIABLE: Final = "_AIRQUEUE_COMPLETE"
"""By which the script asks the command for words, as click expects of ``airqueue``."""


@click.command(short_help="Print what lets a shell complete commands.")
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script by which SHELL completes commands, options, models and examples.

    \b
    Examples:
      airqueue completion bash > ~/.local/share/bash-completion/completions/airqueue
      airqueue completion fish > ~/.config/fish/completions/airqueue.fish
      echo 'eval "$(airqueue completion zsh)"' >> ~/.zshrc
    """
    click.echo(script(shell, ctx.find_root().command))


def script(shell: str, command: click.Command) -> str:
    """Return what a shell reads. Raises ClickException if click has no support for the shell."""
    made = get_completion_class(shell)
    if made is None:
        raise click.ClickException(f"This version of click completes nothing for {shell}.")
    return made(command, {}, "airqueue", _VARIABLE).source()
