"""Tries ways out of a sandbox, each in a process of its own, and prints which of them led out."""

import ctypes, json, os, platform, resource, signal, socket, struct, subprocess, sys, tempfile, time

place = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
X86 = {"ptrace": 101, "process_vm_readv": 310, "io_uring_setup": 425, "bpf": 321, "add_key": 248, "keyctl": 250,
       "perf_event_open": 298, "userfaultfd": 323, "open_by_handle_at": 304, "memfd_create": 319, "mount": 165,
       "kexec_load": 246, "init_module": 175, "unshare": 272, "setns": 308, "pidfd_open": 434,
       "pidfd_send_signal": 424, "pidfd_getfd": 438, "fchmodat2": 452, "clone": 56, "clone3": 435, "execveat": 322,
       "fsopen": 430, "open_tree": 428, "getpid": 39, "openat2": 437, "capget": 125, "sethostname": 170, "prlimit64": 302, "ioprio_set": 251, "shmget": 29,
       "pivot_root": 155, "umount2": 166}
ARM = dict(X86, ptrace=117, process_vm_readv=270, bpf=280, add_key=217, keyctl=219, perf_event_open=241,
           userfaultfd=282, open_by_handle_at=265, memfd_create=279, mount=40, kexec_load=104, init_module=105,
           unshare=97, setns=268, clone=220, execveat=281, getpid=172, capget=90, sethostname=161, prlimit64=261, ioprio_set=30, shmget=194,
           pivot_root=41, umount2=39)
NUMBERS = ARM if platform.machine() == "aarch64" else X86


def call(name, *args):
    """Makes a system call; what is refused is an OSError."""
    ctypes.set_errno(0)
    args = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    number = name if isinstance(name, int) else NUMBERS[name]
    result = libc.syscall(ctypes.c_long(number), *args)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def read(path):
    with open(path, "rb") as file:
        return file.read(64)


def write(path, mode="w"):
    with open(path, mode) as file:
        file.write("x")


def tcp(host, port, family=socket.AF_INET, protocol=0):
    with socket.socket(family, socket.SOCK_STREAM, protocol) as link:
        link.settimeout(5)
        link.connect((host, port))


def proxy():
    address = os.environ["HTTP_PROXY"].rsplit("@")[-1].rsplit("/")[-1]
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), 5)


def ask_proxy(request, then=b""):
    with proxy() as link:
        link.sendall(request.encode())
        answer = link.recv(4096)
        if not answer.split(b" ")[1:2] == [b"200"]:
            raise OSError(answer.decode())
        if then:
            link.sendall(then)
            rest = link.recv(4096)
            if not rest:
                raise OSError("hung up")


def reaches(request, then=b""):
    """Fails unless a server is told of the other host; this one repeats what it is told."""
    with proxy() as link:
        link.sendall(request)
        if then:
            link.recv(4096)
            link.sendall(then)
        answer = b""
        while b"other.example" not in answer:
            more = link.recv(4096)
            if not more:
                raise OSError(answer.decode())
            answer += more


def in_tunnel(said):
    reaches(f"CONNECT 127.0.0.1:{place['echo']} HTTP/1.1\r\n\r\n".encode(), said)


def hello(name):
    """The first message of a TLS connection to this name."""
    name = name.encode()
    entry = b"\0" + struct.pack(">H", len(name)) + name
    names = struct.pack(">H", len(entry)) + entry
    extensions = struct.pack(">HH", 0, len(names)) + names
    body = b"\3\3" + b"r" * 32 + b"\0" + b"\0\2\x13\1" + b"\1\0" + struct.pack(">H", len(extensions)) + extensions
    message = b"\1" + struct.pack(">I", len(body))[1:] + body
    return b"\x16\3\1" + struct.pack(">H", len(message)) + message


def executable(path):
    """A copy of a program, executable from the start."""
    with open("/bin/true", "rb") as source:
        data = source.read()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o755)
    os.write(handle, data)
    os.close(handle)
    subprocess.run([path], check=True)


def written(folder, source, mode):
    """A copy of a file in a folder that may be written."""
    path = os.path.join(folder, f"written-{os.getpid()}-{os.path.basename(source)}")
    with open(source, "rb") as original:
        data = original.read()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    return path


def mapped_file(has):
    """A library that this process has; its children may not look."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if line.rstrip().endswith(".so") or ".so." in line}
    return next(path for path in sorted(paths) if has(os.path.basename(path)))


LOADER = mapped_file(lambda name: name.startswith("ld-"))
LIBRARY = mapped_file(lambda name: name.startswith(("libm.", "libm-", "libz.", "_ctypes.", "libdl")))


def by_loader(folder):
    subprocess.run([LOADER, written(folder, "/bin/true", 0o755)], check=True)


def by_loading(folder):
    ctypes.CDLL(written(folder, LIBRARY, 0o644))


def memory_file():
    handle = call("memfd_create", b"x", 0)
    with open("/bin/true", "rb") as source:
        os.write(handle, source.read())
    os.execv(f"/proc/self/fd/{handle}", ["x"])


def made_as_owner(make):
    """Makes a file that runs as its owner, or group."""
    path = f"{work}/as_owner"
    try:
        make(path)
        if not os.stat(path).st_mode & 0o6000:
            raise OSError("an ordinary file")
    finally:
        if os.path.exists(path):
            os.remove(path)


def become_another():
    """Runs a program that is to run as its owner, who is somebody else if the test is root's."""
    if int(subprocess.check_output([f"{shared}/as_owner", "-u"])) == os.getuid():
        raise OSError("the same user")


def failed():
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def fork_bomb():
    """More processes than the sandbox allows; they all live at once."""
    children = []
    try:
        for _ in range(place["processes"] + 50):
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            children.append(child)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def capabilities():
    head = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0))
    held = ctypes.create_string_buffer(24)
    call("capget", head, held)
    if not any(held.raw[:8] + held.raw[12:20]):
        raise OSError("none")


def reads_address(size):
    block = bytearray(size)
    block[-1] = 1


def fill():
    handle = os.open(os.path.join(os.environ["TMPDIR"], "large"), os.O_WRONLY | os.O_CREAT)
    os.posix_fallocate(handle, 0, 2 << 30)


def many_files():
    handles = [os.open("/dev/null", os.O_RDONLY) for _ in range(place["files"] + 10)]
    for handle in handles:
        os.close(handle)


def pair(kind):
    left, right = socket.socketpair(socket.AF_UNIX, kind)
    left.sendto(b"x", place["datagram_socket"])


def abstract():
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.connect("\0" + place["abstract_socket"])


def unix(path=place["unix_socket"], kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_UNIX, kind) as link:
        link.connect(path)


def covered(path):
    """Uncovers what is mounted at a path."""
    call("umount2", path.encode(), 2)


def attached():
    call("ptrace", 16, place["other"], 0, 0)
    os.waitpid(place["other"], 0)
    call("ptrace", 17, place["other"], 0, 0)


def traced_by_signal_handle():
    handle = call("pidfd_open", place["other"], 0)
    call("pidfd_send_signal", handle, 0, 0, 0)


def stolen_handle():
    handle = call("pidfd_open", place["other"], 0)
    call("pidfd_getfd", handle, 0, 0)


def remote_read():
    buffer = ctypes.create_string_buffer(8)
    local = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
    remote = (ctypes.c_size_t * 2)(place["address"], 8)
    call("process_vm_readv", place["other"], ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)


def by_handle():
    handle = ctypes.create_string_buffer(struct.pack("Ii", 8, 1) + b"\0" * 8)
    call("open_by_handle_at", -100, handle, 0)


def mapped(name, *args):
    call(name, *args)


home, work, outside, shared = place["home"], place["work"], place["outside"], place["shared"]
echo = f"127.0.0.1:{place['echo']}"
OTHER = b"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n"
WAYS = {
    # Reading.
    "read ssh key": lambda: read(f"{home}/.ssh/id"),
    "read ssh key by symlink": lambda: (os.symlink(f"{home}/.ssh/id", f"{work}/link"), read(f"{work}/link")),
    "read ssh key by hard link": lambda: (os.link(f"{home}/.ssh/id", f"{work}/hard"), read(f"{work}/hard")),
    "read ssh key by a link that was there": lambda: read(f"{shared}/link"),
    "move ssh key": lambda: (os.rename(f"{home}/.ssh/other", f"{work}/moved"), read(f"{work}/moved")),
    "move ssh folder": lambda: os.rename(f"{home}/.ssh/folder", f"{work}/folder"),
    "read ssh key through /proc/self/root": lambda: read(f"/proc/self/root{home}/.ssh/id"),
    "read ssh key through /proc/self/cwd": lambda: (os.chdir(home), read("/proc/self/cwd/.ssh/id")),
    "read through another's root": lambda: read(f"/proc/{place['other']}/root{home}/.ssh/id"),
    "list ssh folder": lambda: os.listdir(f"{home}/.ssh"),
    "read a neighbour of what is shared": lambda: read(f"{shared}/../outside/secret"),
    "read from an open folder": lambda: os.open("../outside/secret", os.O_RDONLY, dir_fd=os.open(work, os.O_RDONLY)),
    "read our state": lambda: read(f"{shared}/state/vault"),
    "read shadow": lambda: read("/etc/shadow"),
    "read another's environment": lambda: read(f"/proc/{place['other']}/environ"),
    "read another's command line": lambda: read(f"/proc/{place['other']}/cmdline"),
    "read another's memory map": lambda: read(f"/proc/{place['other']}/maps"),
    "read another's files": lambda: os.listdir(f"/proc/{place['other']}/fd"),
    "open by handle": by_handle,
    "read the environment of what started us": lambda: read(f"/proc/{place['switchboard']}/environ"),
    "read the first process's environment": lambda: read("/proc/1/environ"),
    "read through the first process's root": lambda: read(f"/proc/1/root{outside}/secret"),
    "read the kernel's list of symbols": lambda: read("/proc/kallsyms") or failed(),
    "read all memory": lambda: read("/proc/kcore") or failed(),
    # Writing.
    "write outside": lambda: write(f"{outside}/new"),
    "change what may be read": lambda: write(f"{shared}/readable", "a"),
    "truncate what may be read": lambda: os.truncate(f"{shared}/readable", 0),
    "remove what may be read": lambda: os.remove(f"{shared}/removable"),
    "make a folder outside": lambda: os.mkdir(f"{outside}/folder"),
    "make a link outside": lambda: os.symlink("x", f"{outside}/link"),
    "make a device": lambda: os.mknod(f"{work}/device", 0o20666, os.makedev(1, 3)),
    "chmod": lambda: os.chmod(f"{shared}/readable", 0o777),
    "fchmod": lambda: os.fchmod(os.open(f"{shared}/readable", os.O_RDONLY), 0o777),
    "fchmodat2": lambda: mapped("fchmodat2", -100, f"{shared}/readable".encode(), 0o777, 0),
    "chown": lambda: os.chown(f"{shared}/readable", os.getuid(), os.getgid()),
    "chmod setuid": lambda: (write(f"{work}/tool"), os.chmod(f"{work}/tool", 0o4755)),
    "make a setuid file": lambda: made_as_owner(lambda path: os.open(path, os.O_WRONLY | os.O_CREAT, 0o4755)),
    "make a setgid file": lambda: made_as_owner(lambda path: os.open(path, os.O_WRONLY | os.O_CREAT, 0o2755)),
    "make a setuid file by openat2": lambda: made_as_owner(
        lambda path: call("openat2", -100, path.encode(), struct.pack("QQQ", os.O_WRONLY | os.O_CREAT, 0o4755, 0), 24)),
    "write to the kernel's console": lambda: os.open("/proc/sysrq-trigger", os.O_WRONLY),
    "change a setting of the kernel": lambda: os.open("/proc/sys/kernel/printk_ratelimit", os.O_WRONLY),
    "set an attribute": lambda: os.setxattr(f"{shared}/readable", "user.x", b"x"),
    # Programs.
    "run what was written": lambda: executable(f"{work}/written"),
    "run what was written by the loader": lambda: by_loader(work),
    "run what is in the temporary folder by the loader": lambda: by_loader(tempfile.gettempdir()),
    "load what was written as a library": lambda: by_loading(work),
    "load what is in the temporary folder as a library": lambda: by_loading(tempfile.gettempdir()),
    "run from memory": memory_file,
    "run a program elsewhere": lambda: subprocess.run([f"{outside}/program"], check=True),
    "have capabilities": capabilities,
    "become another user": become_another,
    # Other processes.
    "ptrace": attached,
    "read another's memory": remote_read,
    "signal another": lambda: os.kill(place["other"], 0),
    "signal our parent": lambda: os.kill(place["switchboard"], 0),
    "signal by handle": traced_by_signal_handle,
    "take another's file": stolen_handle,
    "limit another": lambda: resource.prlimit(place["other"], resource.RLIMIT_CORE, (0, 0)),
    "priority of another": lambda: os.setpriority(os.PRIO_PROCESS, place["other"], 5),
    "priority of all": lambda: os.setpriority(os.PRIO_USER, 0, 5),
    "scheduling of another": lambda: os.sched_setscheduler(place["other"], os.SCHED_BATCH, os.sched_param(0)),
    "processors of another": lambda: os.sched_setaffinity(place["other"], os.sched_getaffinity(0)),
    "order of another's disk requests": lambda: call("ioprio_set", 1, place["other"], 2 << 13 | 7),
    "shared memory": lambda: mapped("shmget", 0, 4096, 0o1600),
    # The kernel.
    "mount": lambda: mapped("mount", b"none", f"{work}".encode(), b"tmpfs", 0, 0),
    "unmount": lambda: covered("/proc"),
    "uncover a socket": lambda: (covered(f"{shared}/socket"), unix(f"{shared}/socket")),
    "another root": lambda: mapped("pivot_root", b"/", b"/"),
    "new process namespace": lambda: mapped("unshare", 0x20000000),
    "fsopen": lambda: mapped("fsopen", b"tmpfs", 0),
    "open_tree": lambda: mapped("open_tree", -100, work.encode(), 1),
    "chroot": lambda: os.chroot(work),
    "new user namespace": lambda: mapped("unshare", 0x10000000),
    "new mount namespace": lambda: mapped("unshare", 0x20000),
    "clone into namespaces": lambda: mapped("clone", 0x30000000 | 17, 0, 0, 0, 0) == 0 and os._exit(0),
    "clone3": lambda: mapped("clone3", ctypes.create_string_buffer(64), 64),
    "setns": lambda: mapped("setns", os.open(f"/proc/{place['other']}/ns/net", os.O_RDONLY), 0),
    "bpf": lambda: mapped("bpf", 0, ctypes.create_string_buffer(struct.pack("IIII", 2, 4, 4, 1) + b"\0" * 56), 72),
    "keyring": lambda: mapped("add_key", b"user", b"x", b"x", 1, -3),
    "keyctl": lambda: mapped("keyctl", 0, -3, 1),
    "io_uring": lambda: mapped("io_uring_setup", 4, ctypes.create_string_buffer(120)),
    "perf": lambda: mapped("perf_event_open", ctypes.create_string_buffer(struct.pack("II", 1, 112) + b"\0" * 104), 0, -1, -1, 0),
    "userfaultfd": lambda: mapped("userfaultfd", 1),
    "kexec": lambda: mapped("kexec_load", 0, 0, 0, 0),
    "load a module": lambda: mapped("init_module", b"", 0, b""),
    "host name": lambda: mapped("sethostname", socket.gethostname().encode(), len(socket.gethostname())),
    "calls of another numbering": lambda: mapped(0x40000000 + 39),
    # The network.
    "tcp to another port": lambda: tcp("127.0.0.1", place["tcp"]),
    "tcp to the proxy's port elsewhere": lambda: tcp("127.0.0.2", place["proxy_port"]),
    "tcp by ipv6": lambda: tcp("::1", place["tcp6"], socket.AF_INET6),
    "tcp fast open": lambda: socket.socket().sendto(b"x", 0x20000000, ("127.0.0.1", place["tcp"])),
    "mptcp": lambda: tcp("127.0.0.1", place["tcp"], protocol=262),
    "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", place["udp"])),
    "udp by ipv6": lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"x", ("::1", place["udp"])),
    "ask for a name": lambda: socket.getaddrinfo("example.com", 443),
    "raw": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
    "packets": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3),
    "vsock": lambda: socket.socket(40, socket.SOCK_STREAM),
    "netlink of another kind": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9),
    "unix socket": unix,
    "unix socket by a link": lambda: (os.symlink(place["unix_socket"], f"{work}/socket"), unix(f"{work}/socket")),
    "unix socket by a link that was there": lambda: unix(f"{shared}/socket_link"),
    "unix socket by a relative path": lambda: (os.chdir(shared), unix("../outside/unix")),
    "unix socket below an open folder": lambda: unix(f"{shared}/socket"),
    "unix socket moved to an open folder": lambda: (os.rename(f"{shared}/socket", f"{work}/moved"), unix(f"{work}/moved")),
    "unix socket by another's root": lambda: unix(f"/proc/{place['other']}/root{place['unix_socket']}"),
    "unix socket by the first process's root": lambda: unix(f"/proc/1/root{place['unix_socket']}"),
    "unix socket by another's folder": lambda: unix(f"/proc/{place['other']}/cwd{'/..' * 9}{place['unix_socket']}"),
    "unix datagrams": lambda: unix(place["datagram_socket"], socket.SOCK_DGRAM),
    "abstract socket": abstract,
    "pair of datagrams": lambda: pair(socket.SOCK_DGRAM),
    "pair of raw sockets": lambda: pair(socket.SOCK_RAW),
    "pair of raw sockets that do not block": lambda: pair(socket.SOCK_RAW | socket.SOCK_NONBLOCK),
    "proxy to another port": lambda: ask_proxy(f"CONNECT 127.0.0.1:{place['tcp']} HTTP/1.1\r\n\r\n"),
    "proxy to another host": lambda: ask_proxy(f"CONNECT 127.0.0.2:{place['http']} HTTP/1.1\r\n\r\n"),
    "proxy to a name that leads home": lambda: ask_proxy(f"CONNECT localhost:{place['http']} HTTP/1.1\r\n\r\n"),
    "request with another host": lambda: ask_proxy(
        f"GET http://127.0.0.1:{place['http']}/ HTTP/1.1\r\nHost: other.example\r\n\r\n"),
    "tunnel with another host": lambda: ask_proxy(
        f"CONNECT 127.0.0.1:{place['http']} HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n"),
    "later request of a tunnel": lambda: in_tunnel(f"GET / HTTP/1.1\r\nHost: {echo}\r\n\r\n".encode() + OTHER),
    "request of a tunnel with another address": lambda: in_tunnel(
        f"GET http://other.example/ HTTP/1.1\r\nHost: {echo}\r\n\r\n".encode()),
    "request of a tunnel with two hosts": lambda: in_tunnel(
        f"GET / HTTP/1.1\r\nHost: {echo}\r\nHost: other.example\r\n\r\n".encode()),
    "request of a tunnel after an empty line": lambda: in_tunnel(b"\r\n" + OTHER),
    "request of a tunnel by another method": lambda: in_tunnel(OTHER.replace(b"GET", b"PROPFIND")),
    "request of a tunnel after a body": lambda: in_tunnel(
        f"POST / HTTP/1.1\r\nHost: {echo}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode() + OTHER),
    "request with a line feed": lambda: reaches(
        f"GET http://{echo}/x\nHost:other.example HTTP/1.1\r\nHost: {echo}\r\n\r\n".encode()),
    "tunnel with another server name": lambda: ask_proxy(
        f"CONNECT 127.0.0.1:{place['echo']} HTTP/1.1\r\n\r\n", hello("other.example")),
    # Limits.
    "memory": lambda: reads_address(10 << 30),
    "fill the disk of the temporary folder": fill,
    "memory that is a file": lambda: call("memfd_create", b"x", 8),
    "hide from /proc": lambda: libc.prctl(4, 0, 0, 0, 0) and failed(),
    "fork bomb": fork_bomb,
    "files": many_files,
}


# Ways that matter if others can reach the program: in a network of its own nobody can.
SHARED_NETWORK = {"listen without a port": lambda: socket.socket().listen()}


def attempt(way):
    """Whether it leads out: 0 in the exit status of a process of its own. A mistake in this script counts as a way out, so
    that it is noticed."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    os.dup2(os.open("/dev/null", os.O_RDWR), 1)
    try:
        way()
        os._exit(0)
    except BaseException as error:
        is_refusal = isinstance(error, (OSError, MemoryError, subprocess.SubprocessError))
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.stderr.flush()
        os._exit(1 if is_refusal else 0)


chosen = place["ways"] or list(WAYS)
print(json.dumps({name: attempt({**WAYS, **SHARED_NETWORK}[name]) == 0 for name in chosen}))
