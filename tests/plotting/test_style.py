from nppac.plotting.style import line_style


def test_sixteen_lines_can_be_told_apart():
    styles = [line_style(i) for i in range(16)]
    assert len({(style["color"], style["linestyle"]) for style in styles}) == 16
    assert [style["linestyle"] for style in styles[:4]] == ["-", "--", "-.", ":"]
