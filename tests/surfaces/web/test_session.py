from __future__ import annotations

from countermark.surfaces.web.session import Sessions


def test_a_start_token_opens_one_session_and_then_none() -> None:
    sessions = Sessions(8000)
    token = sessions.token()
    session = sessions.begin(token)
    assert session is not None
    assert sessions.begin(token) is None
    assert sessions.known(session)
    assert sessions.spent


def test_a_fresh_token_is_made_only_when_the_last_one_was_used() -> None:
    sessions = Sessions(8000)
    first = sessions.token()
    assert sessions.token() == first
    sessions.begin(first)
    assert sessions.token() != first
    assert not sessions.spent


def test_a_wrong_token_or_cookie_opens_nothing() -> None:
    sessions = Sessions(8000)
    for wrong in ("", "x", sessions.token()[:-1], "é", "\ud800"):
        assert sessions.begin(wrong) is None
        assert not sessions.known(wrong)
    assert not sessions.known(None)
    assert not sessions.spent


def test_two_servers_cookies_have_different_names_because_a_host_shares_them_over_its_ports() -> None:
    one, other = Sessions(8000), Sessions(8001)
    assert one.cookie != other.cookie
    header = one.set_cookie("value")
    assert header.startswith("countermark-8000=value;")
    assert "HttpOnly" in header
    assert "SameSite=Strict" in header
    assert "Domain" not in header


def test_old_sessions_end_when_too_many_were_opened() -> None:
    sessions = Sessions(8000)
    opened = [sessions.begin(sessions.token()) for _ in range(70)]
    assert not sessions.known(opened[0])
    assert sessions.known(opened[-1])
    assert sum(map(sessions.known, opened)) == 64


def test_on_the_port_of_http_a_browser_s_host_without_a_port_is_ours() -> None:
    assert Sessions(80).hosts == {"127.0.0.1", "localhost", "127.0.0.1:80", "localhost:80"}
    assert Sessions(8000).hosts == {"127.0.0.1:8000", "localhost:8000"}
