"""What came out of a trial, for people and for machines."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from leantta.report.advice import Comparison, as_json, by_domain, table, verdict, warning
from leantta.tables import Table


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """The settings side by side, with what people should know of how it was done."""

    compared: Comparison
    notes: tuple[str, ...] = ()
    command: str | None = None  # how to convert the model, without the setting
    extra: Sequence[Table] = field(default_factory=tuple)

    def text(self) -> str:
        """Return it as lines for a terminal: how it was done, the table, the verdict, what to do next."""
        decided, wrong = verdict(self.compared), warning(self.compared)
        pieces = ["\n".join(self.notes), table(self.compared).text()]
        domains = {part.stream for part in self.compared.parts if part.stream == "as_found"}
        pieces += [by_domain(self.compared, stream).text() for stream in sorted(domains)]
        pieces += [each.text() for each in self.extra]
        if wrong is not None:
            pieces.append(f"Warning: {wrong}")
        pieces.append("\n".join(["Verdict", *(f"  {line}" for line in decided.words)]))
        if len(self.compared.parts) == 1 and not self.compared.of_values:
            pieces[-1] += "\n  With --corrupt the images are disturbed, too: that is what adapting is for."
        if self.command is not None and decided.take.convert is not None:
            pieces.append(f"Next\n  {self.command} {decided.take.convert}")
        return "\n\n".join(pieces)

    def json(self) -> str:
        """Return it as JSON."""
        wrong = warning(self.compared)
        told = {**as_json(self.compared, verdict(self.compared)), "notes": list(self.notes)}
        return json.dumps({**told, **({"warning": wrong} if wrong else {})}, indent=1)
