import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from diagnostics.samples import Known, evidence
from nppac.diagnostics import diagnose_reference
from nppac.plotting.doctor import draw_diagnosis
from nppac.references import UniformReference


@pytest.mark.parametrize(
    "reference", [Known(lambda d: 0.1 * (1 + d)), UniformReference(2)], ids=["normal", "uniform"]
)
def test_four_labelled_panels_under_the_verdict(reference, tmp_path, monkeypatch):
    seen, inner = [], Figure.savefig

    def savefig(figure, *args, **kwargs):
        inner(figure, *args, **kwargs)
        seen.append((figure.get_suptitle(), [a.get_xlabel() + a.get_ylabel() for a in figure.axes]))

    monkeypatch.setattr(Figure, "savefig", savefig)
    diagnosis = diagnose_reference(
        reference, evidence(), about={"task": "toy", "reference": "dir/mine.npz"}
    )
    draw_diagnosis(diagnosis, tmp_path / "doctor.png")
    ((title, labels),) = seen
    assert title == f"mine.npz on toy: {diagnosis.verdict}"
    assert len(labels) == 4
    assert all(labels)
    assert plt.get_fignums() == []
