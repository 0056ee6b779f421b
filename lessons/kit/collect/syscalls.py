"""A filter of system calls, which Linux holds a process to (seccomp): what is not on the list is refused.

The list has what Python and PyTorch need to compute and to read modules. So no process can be started, nothing can be
sent to another one, no socket can be made, and no file can be opened to be written, made, renamed or deleted.

Source of the format: Linux, Documentation/userspace-api/seccomp_filter.rst and include/uapi/linux/filter.h.
"""
import ctypes
import errno
import os
import platform
import struct

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # AUDIT_ARCH_… of linux/audit.h
# name: its numbers on x86_64 and on aarch64, None where it has none
_ALLOWED = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "fstat": (5, 80), "lseek": (8, 62), "mmap": (9, 222),
    "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214), "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "pread64": (17, 67), "readv": (19, 65),
    "writev": (20, 66), "access": (21, None), "select": (23, None), "sched_yield": (24, 124), "mremap": (25, 216),
    "madvise": (28, 233), "dup": (32, 23), "nanosleep": (35, 101), "getitimer": (36, 102), "setitimer": (38, 103),
    "getpid": (39, 172), "exit": (60, 93), "uname": (63, 160), "getcwd": (79, 17), "chdir": (80, 49),
    "readlink": (89, None), "gettimeofday": (96, 169), "getrlimit": (97, 163), "getrusage": (98, 165),
    "sysinfo": (99, 179), "times": (100, 153), "getuid": (102, 174), "getgid": (104, 176), "geteuid": (107, 175),
    "getegid": (108, 177), "getppid": (110, 173), "getgroups": (115, 158), "sigaltstack": (131, 132),
    "statfs": (137, 43), "fstatfs": (138, 44), "gettid": (186, 178), "futex": (202, 98),
    "sched_getaffinity": (204, 123), "getdents64": (217, 61), "restart_syscall": (219, 128),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115), "exit_group": (231, 94),
    "newfstatat": (262, 79), "readlinkat": (267, 78), "faccessat": (269, 48), "pselect6": (270, 72),
    "ppoll": (271, 73), "set_robust_list": (273, 99), "getcpu": (309, 168), "getrandom": (318, 278),
    "membarrier": (324, 283), "statx": (332, 291), "rseq": (334, 293), "faccessat2": (439, 439),
    "stat": (4, None), "lstat": (6, None), "poll": (7, None),
}
# these are looked at more closely
_OPEN, _OPENAT, _FCNTL, _TGKILL, _PRLIMIT = (2, None), (257, 56), (72, 25), (234, 131), (302, 261)
_CLONE, _CLONE3, _IOCTL = (56, 220), (435, 435), (16, 29)
_WRITING = 0o1 | 0o2 | 0o100 | 0o1000 | 0o20000000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_TMPFILE
_HARMLESS_FCNTL = (1, 2, 3, 1030)  # F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC; F_SETOWN could have signals sent
_CLONE_THREAD = 0x10000

_LOAD, _EQUALS, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF_LD…, BPF_JMP…, BPF_RET
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000  # SECCOMP_RET_ALLOW, _ERRNO, _KILL_PROCESS
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # where they stand in struct seccomp_data
_X32 = 0x40000000  # of x86_64: calls with this bit have numbers of their own
NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2  # of prctl


class CannotConfine(OSError):
    """This system gives no such protection."""


def is_known() -> bool:
    """Whether there is a list for this processor."""
    return platform.system() == "Linux" and platform.machine() in _ARCHITECTURES


def program(pid: int, may_open: bool) -> bytes:
    """The filter as a program of the kernel's virtual machine, 8 bytes an instruction.

    Args:
        pid: the process that it is for; it may send signals to itself.
        may_open: whether files may be opened to be read.
    """
    place = list(_ARCHITECTURES).index(platform.machine())
    steps = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUALS, 1, 0, list(_ARCHITECTURES.values())[place]),
             (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _NUMBER)]
    if platform.machine() == "x86_64":
        steps += [(_AT_LEAST, 0, 1, _X32), _refused(errno.EPERM)]
    for numbers in _ALLOWED.values():
        steps += _on(numbers[place], [(_RETURN, 0, 0, _ALLOW)])
    for numbers, argument in ((_OPEN, 1), (_OPENAT, 2)):
        opened = _unless_any_bit(argument, _WRITING, errno.EACCES) if may_open else [_refused(errno.EACCES)]
        steps += _on(numbers[place], opened)
    steps += _on(_FCNTL[place], _if_among(1, _HARMLESS_FCNTL))
    steps += _on(_TGKILL[place], _if_among(0, (pid,)))
    steps += _on(_PRLIMIT[place], _if_among(0, (0,)))
    steps += _on(_CLONE[place], [*_argument(0), (_ANY_BIT, 0, 1, _CLONE_THREAD), (_RETURN, 0, 0, _ALLOW),
                                 _refused(errno.EPERM)])
    steps += _on(_CLONE3[place], [_refused(errno.ENOSYS)])  # the C library then takes clone
    steps += _on(_IOCTL[place], [_refused(errno.ENOTTY)])
    steps += [_refused(errno.EPERM)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _refused(number):
    return _RETURN, 0, 0, _REFUSE | number


def _on(number, steps):
    """What is done on one call: every way through the steps ends with an answer."""
    return [] if number is None else [(_EQUALS, 0, len(steps), number), *steps]


def _argument(place):
    """The lower half of an argument: these are ints, and the kernel looks at no more of them."""
    return [(_LOAD, 0, 0, _ARGUMENTS + 8 * place)]


def _unless_any_bit(argument, bits, number):
    return [*_argument(argument), (_ANY_BIT, 0, 1, bits), _refused(number), (_RETURN, 0, 0, _ALLOW)]


def _if_among(argument, values):
    tested = [step for value in values for step in ((_EQUALS, 0, 1, value), (_RETURN, 0, 0, _ALLOW))]
    return [*_argument(argument), *tested, _refused(errno.EPERM)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]


def hold_to_the_list(may_open: bool) -> None:
    """From now on, this process may make no other calls, nor may any thread that it starts. Nothing takes that back.

    Raises:
        CannotConfine: the kernel has no such filter, or does not allow it here.
    """
    steps = program(os.getpid(), may_open)
    wanted = _Program(len(steps) // 8, steps)
    prctl(NO_NEW_PRIVILEGES, 1)
    prctl(_SET_SECCOMP, _FILTER, ctypes.addressof(wanted))


def prctl(*arguments: int) -> None:
    """The system call of this name.

    Raises:
        CannotConfine: the kernel refuses it.
    """
    call = ctypes.CDLL(None, use_errno=True).prctl
    call.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    if call(*arguments, *[0] * (5 - len(arguments))):
        raise CannotConfine(ctypes.get_errno(), f"the kernel refuses prctl{arguments[:2]}, which protects this machine")
