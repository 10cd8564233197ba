"""Set this folder up: a Python environment in .venv, and what npm gives, each from its lock.

    python3 requirements/install.py pages        the pages only, without torch
    python3 requirements/install.py all          recomputing every number too
    python3 requirements/install.py tests        and everything `make test` runs, a browser included
    python3 requirements/install.py lighthouse   and the page audit

Nothing is done twice: a stamp in .venv holds the hash of the lock that was installed last.
Runs on the system's Python with nothing but the standard library.
"""
import hashlib
import os
import shutil
import subprocess
import sys
import time
from functools import partial

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
OLDEST = (3, 11)

LOCKS = {"pages": ["pages.txt"], "all": ["pages.txt", "all.txt"]}
NPM_FOLDERS = {"pages": ".", "tests": "tests/html", "lighthouse": "tests/lighthouse"}
NEEDS = {
    "pages": ["pages"],
    "all": ["pages", "all"],
    "tests": ["pages", "all", "tests"],
    "lighthouse": ["pages", "all", "lighthouse"],
}


class SetupError(Exception):
    """What is missing, in one sentence."""


def hash_of(paths):
    """One SHA-256 over the files' bytes: a set-up is current while none of them changed."""
    digest = hashlib.sha256()
    for path in paths:
        with open(os.path.join(ROOT, path), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def once(name, inputs, result, action):
    """Run `action` unless the stamp says it ran for these inputs and its result is still there."""
    stamp = os.path.join(VENV, "stamp-" + name)
    wanted = hash_of(inputs)
    if os.path.exists(stamp) and os.path.exists(os.path.join(ROOT, result)):
        with open(stamp) as file:
            if file.read() == wanted:
                return
    start = time.time()
    action()
    with open(stamp, "w") as file:
        file.write(wanted)
    print(f"set-up: {name} done in {time.time() - start:.0f} s", flush=True)


def apt_install(package):
    """Install a Debian package if this user may without being asked; say whether it worked."""
    prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if not shutil.which("apt-get") or (prefix and not shutil.which("sudo")):
        return False
    print("set-up: apt-get install " + package, flush=True)
    environment = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    for command in (["update"], ["install", "-y", "--no-install-recommends", package]):
        done = subprocess.run(prefix + environment + command, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return done.returncode == 0


def make_environment():
    """Create .venv; one that was left half made (no pip in it) is made again."""
    if os.path.exists(PYTHON) and os.path.exists(os.path.join(VENV, "bin", "pip")):
        return
    complete = subprocess.call([sys.executable, "-c", "import ensurepip"], stderr=subprocess.DEVNULL) == 0
    if not complete and not apt_install("python3-venv"):
        raise SetupError("Python's venv module is missing: install the package python3-venv.")
    print(f"set-up: creating .venv with Python {sys.version_info[0]}.{sys.version_info[1]}", flush=True)
    subprocess.check_call([sys.executable, "-m", "venv", "--clear", VENV])


def pip_install(lock):
    """Install one lock, showing how far pip is rather than all that it says."""
    path = os.path.join(ROOT, "requirements", lock)
    with open(path) as file:
        total = sum("==" in line for line in file)
    command = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "-r", path]
    pip = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    log, seen, shown = [], 0, 0.0
    for line in pip.stdout:
        log.append(line.rstrip())
        seen += line.startswith("Collecting ")
        installing = line.startswith("Installing collected")
        interval = 0.2 if sys.stdout.isatty() else 5
        if installing or (line.startswith(("Collecting", "  Downloading")) and time.time() - shown > interval):
            shown = time.time()
            what = "unpacking" if installing else line.split()[1].split("/")[-1]
            end = "\r" if sys.stdout.isatty() else "\n"
            message = f"set-up: {lock}: package {seen} of {total}: {what}"
            print(message[:100].ljust(100) if end == "\r" else message, end=end, flush=True)
    if pip.wait():
        said = "\n  ".join(log[-12:])
        raise SetupError(f"pip could not install requirements/{lock}; it said:\n  {said}")


def npm_install(folder):
    """`npm ci` in one folder, by the Node that the Python lock brings."""
    environment = dict(os.environ, PATH=os.path.dirname(PYTHON) + os.pathsep + os.environ["PATH"])
    done = subprocess.run(
        [os.path.join(VENV, "bin", "npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=os.path.join(ROOT, folder), env=environment, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        said = "\n  ".join(done.stdout.splitlines()[-12:])
        raise SetupError(f"npm could not install {folder}/package-lock.json; it said:\n  {said}")


def install(what):
    """Bring the environment to what one of the four names needs."""
    if sys.version_info < OLDEST:
        raise SetupError(
            f"Python 3.11 or newer is needed and this is {sys.version_info[0]}.{sys.version_info[1]}; "
            "name another one with `make PYTHON=python3.12 ...`."
        )
    make_environment()
    for part in NEEDS[what]:
        if part in LOCKS:
            locks = LOCKS[part]
            once(part, ["requirements/" + lock for lock in locks], PYTHON, partial(pip_install, locks[-1]))
        if part in NPM_FOLDERS:
            folder = NPM_FOLDERS[part]
            once("npm-" + part, [folder + "/package-lock.json"], folder + "/node_modules", partial(npm_install, folder))
    if what in ("tests", "lighthouse"):
        subprocess.check_call([PYTHON, os.path.join(ROOT, "requirements", "browser.py"), "--install"])


def main():
    """Command line: one name; a problem is one sentence and exit status 1."""
    if len(sys.argv) != 2 or sys.argv[1] not in NEEDS:
        sys.exit(f"usage: python3 requirements/install.py {'|'.join(NEEDS)}")
    try:
        install(sys.argv[1])
    except (SetupError, OSError) as problem:
        sys.exit(f"set-up: {problem}")
    except subprocess.CalledProcessError as problem:
        sys.exit(f"set-up: {os.path.basename(problem.cmd[0])} failed (exit {problem.returncode}).")
    except KeyboardInterrupt:
        sys.exit("set-up: stopped; run the same command again, it goes on.")


if __name__ == "__main__":
    main()
