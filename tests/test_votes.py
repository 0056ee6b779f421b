"""The phones of a class vote on a prediction: over real HTTP, what is counted, what is refused and with which sentence,
and what panels are told."""
import http.client
import logging
import math
import re
import socket
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import psutil
import pytest
from bs4 import BeautifulSoup

from lessons.kit import votes
from lessons.kit.chapters import ROOT
from lessons.kit.predict import predict
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Star, View, slider
from lessons.kit.votes import NoNetworkError, door, network, server

HERE = "127.0.0.1"
FORM = "application/x-www-form-urlencoded"
ALPHAS = [0.0, 0.5, 1.0]


def a_panel(low=0.0, high=1.0, unit="percent", question="How **high** is it?", along="y"):
    """A panel that asks, and a list of what it sends its page."""
    guess = predict(question, low, high)
    guess.panel_answers(0.9, {"alpha": 0.5})
    star = Star("guess", x=(0.5,), along=along)
    marks = (Line("of A", "a", "A"), star, Handle("alpha"))
    chart = Chart(Axis("α", 0, 1), Axis("accuracy", low, high, unit=unit), marks)
    frame = Frame("It is", "It.", {"of A": [0, 0.9, 0]})
    panel = View({"alpha": slider("α", ALPHAS, 0.5)}, [chart], lambda alpha: frame, prediction=guess, hides=["of A"])
    told = []
    panel.send = told.append
    return panel, told


@pytest.fixture
def asked():
    """asked(panel, **arguments) -> the vote of a class, which ends with the test."""
    begun = []

    def ask(panel, **arguments):
        begun.append(panel.ask_class(host=HERE, **arguments))
        return begun[-1]
    yield ask
    for vote in begun:
        vote.stop()


@pytest.fixture
def vote(asked):
    return asked(a_panel()[0])


def latest(told):
    """How the vote stands, as a panel was told last."""
    return told[-1]["class"] if told else defaultdict(lambda: None)


class Phone:
    """A browser's requests, one connection each, with its cookie."""

    def __init__(self, vote, cookie=None):
        self.vote, self.cookie = vote, cookie
        self.authority, _, path = vote.address.removeprefix("http://").partition("/")
        self.path = f"/{path}"

    def asks(self, method="GET", path=None, body=None, **headers):
        """The answer to a request: status, headers, page, and sentence."""
        if self.cookie:
            headers = {"Cookie": self.cookie} | headers
        connection = http.client.HTTPConnection(self.authority, timeout=10)
        connection.request(method, self.path if path is None else path, body, headers,
                           encode_chunked="Transfer-Encoding" in headers)
        answer = connection.getresponse()
        page = answer.read().decode()
        connection.close()
        if cookie := answer.getheader("Set-Cookie"):
            self.cookie = cookie.partition(";")[0]
        said = BeautifulSoup(page, "html.parser").find(attrs={"role": True})
        return SimpleNamespace(status=answer.status, header=answer.getheader, page=page, said=said.text if said else "")

    def sends(self, body, number=None, **headers):
        """The answer to a form."""
        usual = {"Origin": f"http://{self.authority}", "Content-Type": FORM} | headers
        return self.asks("POST", f"{self.path}/{number or self.vote.number}", body, **usual)

    def votes(self, number):
        """Opens the page and sends a number; returns the page that comes then."""
        self.asks()
        answer = self.sends(f"value={number}")
        return self.asks(path=answer.header("Location")) if answer.status == 303 else answer


# -- what is counted -------------------------------------------------------------------------------

def test_a_phone_votes_in_the_unit_of_the_panel_and_what_it_sent_last_counts(vote):
    phone = Phone(vote)
    assert "from 0 % to 100 %" in phone.asks().page
    assert phone.votes(45).said == "Your vote is 45 %. You can change it until your teacher closes the vote."
    assert phone.votes("62.5").said.startswith("Your vote is 62.5 %.")
    Phone(vote).votes("-0")
    assert vote.values == [0.0, 0.625] and str(vote.values[0]) == "0.0"


@pytest.mark.fault("votes", "One phone sends a thousand votes", answers="One counts")
def test_one_phone_that_sends_a_thousand_counts_once(vote):
    phone = Phone(vote)
    phone.asks()
    cookie = phone.cookie
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda number: Phone(vote, cookie).sends(f"value={number % 101}").status, range(1000)))
    assert set(answers) == {303} and vote.count == 1


def test_a_number_without_a_unit_may_be_negative_and_is_shown_as_the_panel_shows_it(asked):
    vote = asked(a_panel(-2.0, 0.5, unit="")[0])
    page = BeautifulSoup(Phone(vote).asks().page, "html.parser")
    field = page.find("input")
    assert (field["min"], field["max"], field.get("inputmode")) == ("-2", "0.5", None), "a decimal pad has no minus"
    assert page.find("label").text == "Your guess, from −2 to 0.5"
    assert "−1.25" in Phone(vote).votes("-1.25").said and vote.values == [-1.25]


def test_a_place_on_the_x_axis_is_asked_in_that_axis_unit(asked):
    assert "from 0 to 1<" in Phone(asked(a_panel(along="x")[0])).asks().page


def test_200_votes_at_once_arrive_and_the_panel_is_told_all(asked):
    panel, told = a_panel()
    vote = asked(panel)
    phones = [Phone(vote) for _ in range(200)]
    with ThreadPoolExecutor(50) as pool:
        pages = list(pool.map(lambda pair: pair[1].votes(pair[0] % 101), enumerate(phones)))
    assert {page.status for page in pages} == {200} and vote.count == 200
    until(lambda: latest(told)["count"] == 200)
    assert len({phone.cookie for phone in phones}) == 200


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.01)


def test_votes_arrive_and_are_told_while_a_cell_runs_for_long(asked):
    panel, told = a_panel()
    vote = asked(panel)
    phones = threading.Thread(target=lambda: [Phone(vote).votes(number) for number in range(5)])
    phones.start()
    count = 0
    while latest(told)["count"] != 5:  # the main thread gives nothing away by itself
        count += 1
        assert count < 2e9
    phones.join()
    assert vote.count == 5


# -- what panels are told --------------------------------------------------------------------------

def test_before_the_answer_is_shown_panels_are_told_the_count_and_no_number(asked):
    panel, told = a_panel()
    vote = asked(panel)
    Phone(vote).votes("73.1864")
    until(lambda: latest(told)["count"] == 1)
    for heard in (told, panel.get_state(), repr(vote)):
        assert "731864" not in str(heard).replace(".", "")
    panel.prediction.commit(0.5)
    until(lambda: latest(told)["votes"] == [73.1864 / 100])
    assert not vote.is_open


def test_the_answer_closes_the_vote_and_guess_again_opens_it_with_the_votes_that_there_are(asked):
    panel, told = a_panel()
    vote, phone = asked(panel), None
    phone = Phone(vote)
    phone.votes(10)
    panel.prediction.show_anyway()
    refused = phone.sends("value=20")
    assert refused.status == 409 and "closed" in refused.said and vote.values == [0.1]
    assert phone.asks().said == "The vote is closed. Your vote is 10 %." and "<form" not in phone.asks().page
    panel.prediction.take_back()
    until(lambda: latest(told)["votes"] is None)
    assert phone.votes(30).status == 200 and vote.values == [0.3]


def test_the_page_in_jupyterlab_closes_and_opens_the_vote_and_asks_how_it_stands(asked):
    panel, told = a_panel()
    vote = asked(panel)
    panel._asked(panel, {"vote": "close"}, [])
    assert not vote.is_open and Phone(vote).votes(5).status == 409
    panel._asked(panel, {"vote": "open"}, [])
    assert vote.is_open
    until(lambda: latest(told)["open"])
    told.clear()
    panel._asked(panel, {"vote": "tell"}, [])
    until(lambda: told)
    panel._asked(panel, {"vote": "stop"}, [])
    panel._asked(panel, {"vote": "__init__"}, [])
    assert vote.is_open, "a page does nothing else"
    other, _ = a_panel()
    other._asked(other, {"vote": "tell"}, [])


def test_a_panel_for_the_hall_hears_of_the_vote_whether_made_before_or_after(asked):
    panel, told = a_panel()
    before, heard_before = panel.big(), []
    before.send = heard_before.append
    vote = asked(panel)
    after, heard_after = panel.big(), []
    after.send = heard_after.append
    Phone(vote).votes(1)
    until(lambda: all(latest(heard)["count"] == 1 for heard in (told, heard_before, heard_after)))


def test_the_code_is_the_address():
    code = votes.vote.code_of("http://192.168.100.100:54321/abcd-efgh-jkmn")
    assert code["size"] <= 33 and re.fullmatch(r"(M\d+ \d+h1v1h-1z)+", code["path"])
    dark = {tuple(map(int, pair)) for pair in re.findall(r"M(\d+) (\d+)", code["path"])}
    last = code["size"] - 1
    assert {(0, 0), (last, 0), (0, last)} <= dark and (last, last) not in dark, "it has a finder in three corners"


# -- one question after the other ------------------------------------------------------------------

def test_the_next_question_keeps_the_address_and_takes_no_answer_to_the_one_before(asked):
    first, second = asked(a_panel()[0]), asked(a_panel(question="And how <low>?")[0])
    assert first.address == second.address and first.has_ended and not first.is_open
    phone = Phone(second)
    assert "And how &lt;low&gt;?" in phone.asks().page
    refused = phone.sends("value=500", first.number)
    assert refused.status == 409 and "another question" in refused.said and "<form" in refused.page
    assert phone.votes(6).status == 200
    assert (first.values, second.values) == ([], [0.06])


def test_a_vote_that_has_ended_keeps_its_numbers_and_no_token(asked):
    panel, told = a_panel()
    vote = asked(panel)
    Phone(vote).votes(12)
    asked(a_panel()[0])
    assert vote.values == [0.12] and vote._votes == {} and repr(vote) == "1 vote. The vote has ended."
    panel.prediction.commit(0.4)
    until(lambda: latest(told)["votes"] == [0.12])


def test_to_ask_again_goes_on_with_the_vote_and_after_stop_begins_anew(asked):
    panel, _ = a_panel()
    vote = asked(panel)
    Phone(vote).votes(12)
    assert asked(panel, class_size=400) is vote and vote.state()["most"] == 600
    with pytest.raises(ValueError, match="vote at http://.* already. Call stop"):
        asked(panel, port=1)
    vote.stop()
    again = asked(panel)
    assert again is not vote and again.count == 0 and again.address != vote.address


def test_stop_ends_the_server_and_its_thread(asked):
    panel, told = a_panel()
    vote = asked(panel)
    Phone(vote).votes(12)
    vote.stop()
    with pytest.raises(OSError):
        Phone(vote).asks()
    assert not [thread for thread in threading.enumerate() if thread.name == "class vote"]
    assert latest(told)["ended"] and latest(told)["count"] == 1
    vote.stop()


@pytest.mark.fault("votes", "The kernel ends while a class votes", answers="The server ends with it")
def test_the_server_ends_with_its_process_and_says_nothing(start_python):
    process = start_python("""
        from tests.test_votes import a_panel
        print(a_panel()[0].ask_class(host="127.0.0.1").address)
        """)
    said, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and errors == ""
    host, port = re.match(r"http://([\d.]+):(\d+)/", said).groups()
    with pytest.raises(OSError):
        socket.create_connection((host, int(port)), timeout=2)


def test_a_thread_that_does_not_start_is_an_error_and_no_wait_for_ever(monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    monkeypatch.setattr(server.web, "Application", None)
    with pytest.raises(RuntimeError, match="could not be served"):
        a_panel()[0].ask_class(host=HERE)
    assert not votes.vote._serving


def test_nothing_is_served_unless_a_class_is_asked():
    a_panel()
    assert not votes.vote._serving


# -- what is refused -------------------------------------------------------------------------------

@pytest.mark.parametrize("body, status, says", [
    ("value=101", 422, "between 0 % and 100 %"), ("value=-0.1", 422, "between"), ("value=1e999", 422, "between"),
    ("value=nan", 400, "no number"), ("value=inf", 400, "no number"), ("value=", 400, "no number"),
    ("value=4,5", 400, "with a point"), ("value=1_0", 400, "no number"), ("value=0x10", 400, "no number"),
    ("value=%D9%A1", 400, "no number"), ("value=%3Cscript%3Ealert(1)%3C/script%3E", 400, "no number"),
    ("value=1&value=2", 400, "one number and nothing else"), ("value=1&name=Ada", 400, "one number and nothing else"),
    ("name=1", 400, "one number and nothing else"), ("", 400, "one number"), ("45", 400, "no form"),
    ("value=\xff".encode("latin-1"), 400, "no form"), ("value=" + "1" * 400, 413, "longer than a number"),
    ("value=1" + "&x=1" * 9000, 413, "longer than a number")])
@pytest.mark.fault("votes", "A phone sends no number, a script, or far too much",
                   answers="It is refused with a sentence, and nothing is counted")
def test_what_is_no_number_of_the_range_is_refused_with_a_sentence(vote, body, status, says):
    phone = Phone(vote)
    phone.asks()
    answer = phone.sends(body)
    assert answer.status == status and says in answer.said
    assert "<script" not in answer.page and "Ada" not in answer.page and vote.count == 0


def test_a_body_without_a_length_is_refused_once_it_is_too_long(vote):
    phone = Phone(vote)
    phone.asks()
    parts = (b"1" * 100 for _ in range(10))
    answer = phone.asks("POST", f"{phone.path}/1", parts, Origin=f"http://{phone.authority}",
                        **{"Content-Type": FORM, "Transfer-Encoding": "chunked"})
    assert answer.status == 413 and vote.count == 0


@pytest.mark.parametrize("length", [b"-8", b"\xb2", b"8\r\nContent-Length: 9", b"8, 8", b"9" * 30, b"10000000"])
@pytest.mark.fault("votes", "A request lies about its length", answers="It is refused, and the server goes on")
def test_an_odd_length_is_refused_and_nothing_fails(vote, length, caplog):
    phone = Phone(vote)
    phone.asks()
    host, _, port = phone.authority.partition(":")
    head = (f"POST {phone.path}/1 HTTP/1.1\r\nHost: {phone.authority}\r\nOrigin: http://{phone.authority}\r\n"
            f"Cookie: {phone.cookie}\r\nContent-Type: {FORM}\r\n")
    with socket.create_connection((host, int(port)), timeout=5) as raw:
        raw.sendall(head.encode() + b"Content-Length: " + length + b"\r\n\r\n")
        assert raw.recv(100).startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 400 "))
    assert vote.count == 0 and not caplog.records


@pytest.mark.parametrize("headers, status", [
    ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Origin": ""}, 403),
    ({"Content-Type": "text/plain"}, 415), ({"Content-Type": "application/json"}, 415),
    ({"Content-Type": "multipart/form-data; boundary=x"}, 415), ({"Cookie": ""}, 403), ({"Cookie": "phone=short"}, 403),
    ({"Cookie": "phone=" + "x" * 400}, 403)])
@pytest.mark.fault("votes", "Another page, or a program without the cookie, sends a vote", answers="It is refused")
def test_a_vote_from_another_page_in_another_form_or_without_a_cookie_is_refused(vote, headers, status):
    phone = Phone(vote)
    phone.asks()
    answer = phone.sends("value=1", **headers)
    assert answer.status == status and answer.said and vote.count == 0


@pytest.mark.parametrize("host", ["evil.example", "localhost", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:80"])
@pytest.mark.fault("votes", "The server is asked under another name (DNS rebinding)",
                   answers="It shows neither the question nor a form")
def test_under_another_name_the_page_shows_neither_the_question_nor_a_form(vote, host):
    phone = Phone(vote)
    for answer in (phone.asks(Host=host), phone.sends("value=1", Host=host)):
        assert answer.status == 421 and "high" not in answer.page and "<form" not in answer.page
    assert phone.cookie is None and vote.count == 0


def test_without_its_path_there_is_nothing_and_other_methods_do_nothing(vote):
    phone = Phone(vote)
    for path in ("/", "/favicon.ico", phone.path[:-1], phone.path + "/", phone.path + "/1/2", phone.path + "/x", "//x"):
        answer = phone.asks(path=path)
        assert answer.status == 404 and phone.path not in answer.page and "high" not in answer.page, path
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"):
        refused = phone.asks(method)
        assert refused.status == 405 and "high" not in refused.page
    assert phone.asks(path=f"{phone.path}/1").header("Location") == phone.path
    assert phone.asks("POST", f"{phone.path}/1?value=3", "value=4", Origin=f"http://{phone.authority}",
                      **{"Content-Type": FORM}).status == 415
    assert vote.count == 0


def test_the_path_cannot_be_guessed_and_is_another_every_time(asked):
    paths = set()
    for _ in range(3):
        vote = asked(a_panel()[0])
        paths.add(vote.address.rpartition("/")[2])
        vote.stop()
    assert len(paths) == 3 and all(re.fullmatch("[a-km-np-z2-9]{4}(-[a-km-np-z2-9]{4}){2}", path) for path in paths)
    assert len(server._LETTERS) ** 12 >= 2 ** 60


@pytest.mark.fault("votes", "One machine pretends to be many phones",
                   answers="It is refused beyond the size of the class, and the teacher is told")
def test_more_new_phones_than_a_class_has_are_refused_from_one_address_and_the_teacher_is_told(asked):
    panel, told = a_panel()
    vote = asked(panel, class_size=4)
    phones = [Phone(vote) for _ in range(8)]
    answers = [phone.votes(10) for phone in phones]
    assert [answer.status for answer in answers] == [200] * 6 + [429] * 2
    assert "Tell your teacher" in answers[-1].said and vote.count == 6
    assert phones[0].votes(20).status == 200, "who has voted may still change it"
    until(lambda: latest(told)["turned_away"] == 2)
    asked(panel, class_size=100)
    assert phones[-1].votes(30).status == 200


def test_after_a_while_and_from_another_address_phones_are_let_in_and_their_number_has_an_end(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(door.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(door, "MOST_PHONES", 5)
    entry = door.Door()
    entry.class_size = 1
    assert [entry.lets_in(token, "one") for token in "abc"] == [True, True, False]
    assert entry.lets_in("c", "another")
    clock[0] = door.WHILE + 1
    assert entry.lets_in("d", "one") and entry.lets_in("e", "one") and not entry.lets_in("f", "new")
    assert entry.lets_in("a", "new") and entry.turned_away == 2


def test_a_class_behind_one_address_that_answers_several_questions_is_not_turned_away(asked):
    phones = None
    for _ in range(3):
        vote = asked(a_panel()[0], class_size=10)
        phones = phones or [Phone(vote) for _ in range(15)]
        for phone in phones:
            phone.vote = vote
            assert phone.votes(1).status == 200


# -- nothing about who -----------------------------------------------------------------------------

def test_nobody_is_logged_and_no_address_is_kept(vote, caplog):
    caplog.set_level(logging.DEBUG)
    phone = Phone(vote)
    phone.votes("73.1864")
    phone.sends("value=no")
    phone.asks(path="/nothing")
    with socket.create_connection((HERE, int(vote.address.split(":")[2].split("/")[0])), timeout=5) as raw:
        raw.sendall(b"nonsense\r\n\r\n")
        raw.recv(1000)
    said = "\n".join(record.getMessage() for record in caplog.records if record.name != "asyncio")
    assert not [secret for secret in (HERE, phone.cookie.partition("=")[2], "73.1864") if secret in said], said
    assert HERE not in str(vote._server.door.__dict__)


def test_the_page_asks_for_nothing_runs_nothing_and_stays_small(vote):
    answer = Phone(vote).asks()
    policy = answer.header("Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "form-action 'self'" in policy
    assert "script" not in policy and "unsafe" not in policy
    page = BeautifulSoup(answer.page, "html.parser")
    assert not page.find_all(["script", "img", "link", "iframe", "svg"]) and not page.find_all(src=True)
    assert not [name for tag in page.find_all(True) for name in tag.attrs if name.startswith("on") or name == "style"]
    assert page.find("label")["for"] == page.find("input")["id"] and len(page.find_all("button")) == 1
    assert len(answer.page) < 1000 and answer.header("Server") is None
    cookie = answer.header("Set-Cookie")
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and f"Path={Phone(vote).path}" in cookie


# -- where phones reach ----------------------------------------------------------------------------

def interfaces(monkeypatch, outward="", **addresses):
    """The machine has these IPv4 addresses, by interfaces, and would send from `outward`."""
    monkeypatch.setattr(network, "_way_out", lambda: outward)
    part = lambda address: SimpleNamespace(family=socket.AF_INET, address=address)
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: {name: [part(one)] for name, one in addresses.items()})
    states = {name: SimpleNamespace(isup=name != "down") for name in addresses}
    monkeypatch.setattr(psutil, "net_if_stats", lambda: states)
    for name in network._ELSEWHERE:
        monkeypatch.delenv(name, raising=False)


def test_the_address_is_that_of_the_way_out_and_no_tunnel_or_container_comes_first(monkeypatch):
    interfaces(monkeypatch, "10.8.0.2", lo="127.0.0.1", tun0="10.8.0.2", docker0="172.17.0.1", wlan0="192.168.1.7",
               eth0="10.0.0.5", down="10.0.0.9", usb="169.254.1.1")
    assert network.candidates() == ["192.168.1.7", "10.0.0.5", "10.8.0.2", "172.17.0.1"]
    interfaces(monkeypatch, "10.0.0.5", wlan0="192.168.1.7", eth0="10.0.0.5")
    assert network.address_for_phones() == "10.0.0.5"


def test_without_a_local_network_it_says_so(monkeypatch):
    interfaces(monkeypatch, lo="127.0.0.1", usb="169.254.1.1")
    with pytest.raises(NoNetworkError, match="in no local network.*hotspot"):
        a_panel()[0].ask_class()
    assert not votes.vote._serving


def test_on_a_hub_it_says_so_unless_an_address_is_given(monkeypatch, asked):
    interfaces(monkeypatch, wlan0="192.168.1.7")
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ada/")
    with pytest.raises(NoNetworkError, match="on a server, such as a JupyterHub"):
        a_panel()[0].ask_class()
    assert asked(a_panel()[0]).address.startswith(f"http://{HERE}:")


@pytest.mark.parametrize("arguments, says", [
    ({"host": "my-laptop"}, "host must be an IPv4 address"), ({"host": "0.0.0.0"}, "and 0.0.0.0 is none"),
    ({"host": "203.0.113.9"}, "nothing can be served at host 203.0.113.9, port any"),
    ({"class_size": 0}, "class_size must be"), ({"class_size": True}, "class_size must be"),
    ({"port": "80"}, "port must be"), ({"port": 70000}, "port must be")])
def test_what_cannot_be_served_is_refused(arguments, says):
    with pytest.raises(ValueError, match=says):
        a_panel()[0].ask_class(**arguments)
    assert not votes.vote._serving


@pytest.mark.fault("votes", "The port is taken", answers="It is named, and a free one is used")
def test_a_port_that_is_taken_is_named_and_a_free_one_is_used():
    with socket.create_server((HERE, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port}"):
            a_panel()[0].ask_class(host=HERE, port=port)
    vote = a_panel()[0].ask_class(host=HERE, port=port)
    assert f":{port}/" in vote.address
    vote.stop()


def test_a_panel_without_a_question_says_that_there_is_nothing_to_vote_on():
    panel = View({"alpha": slider("α", ALPHAS, 0.5)}, [], lambda alpha: Frame("", "", {}))
    with pytest.raises(ValueError, match="asks for no guess"):
        panel.ask_class()


def test_other_addresses_are_named_for_the_teacher_and_a_shown_answer_too(monkeypatch, asked):
    interfaces(monkeypatch, wlan0="192.168.1.7")
    panel, _ = a_panel()
    vote = asked(panel)
    assert 'stop() and then ask_class(host="192.168.1.7")' in repr(vote)
    panel.prediction.show_anyway()
    assert "“Guess again”" in repr(vote)


def test_what_teachers_read_has_the_numbers_of_the_code():
    page = " ".join((ROOT / "docs/teaching.md").read_text(encoding="utf-8").split())
    assert f"up to {math.ceil(door.SPARE * door.USUAL)} new phones from one address within ten minutes" in page
    assert f"more than {door.USUAL} students" in page and door.WHILE == 600
