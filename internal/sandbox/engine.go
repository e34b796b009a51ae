package sandbox

import (
	"fmt"
	"net/netip"
	"strconv"

	"carrel/internal/policy"
)

// Engine is what makes the walls of a plan. Which one it is never follows from a
// policy: a policy that an engine cannot hold is refused, see [Engine.Refusals].
type Engine string

const (
	// EngineNamespaces is ours and the default: the stage makes its own
	// namespaces. The zero value of Plan.Engine means it, too.
	EngineNamespaces Engine = "namespaces"
	// EngineBubblewrap has the system's bwrap make the namespaces and the
	// mounts; inside, the stage checks what was made and does the rest.
	EngineBubblewrap Engine = "bubblewrap"
	// EngineLandlock makes no namespaces at all: Landlock and the system call
	// filter keep a command to what is granted, on the host as it is.
	EngineLandlock Engine = "landlock"
	// EngineNone makes no walls: the namespaces that the stage gets are for the
	// broker, and for everything to end together. See [CompileOpen].
	EngineNone Engine = "none"
)

// DimUser is the dimension of a refusal that is about who runs it, which is no
// dimension of a policy.
const DimUser policy.Dimension = "user"

// Refusal is one thing that an engine cannot hold.
type Refusal struct {
	Dimension policy.Dimension
	Subject   string // what was asked for
	Why       string
	Right     string // what would be right
}

func (r Refusal) String() string {
	return fmt.Sprintf("%s %s: %s (%s)", r.Dimension, r.Subject, r.Why, r.Right)
}

// Refusals says what of a policy and its plan e does not hold; none means that it
// holds all of it. It is pure: the machine may still refuse.
func (e Engine) Refusals(pol *policy.Effective, p *Plan) []Refusal {
	var out []Refusal
	for _, l := range limits[e] {
		if subject := l.asked(pol, p); subject != "" {
			out = append(out, Refusal{l.dimension, subject, l.why, l.right})
		}
	}
	return out
}

// Weaker says in which ways the walls of e are weaker than those of
// [EngineNamespaces] where it holds a policy. files: Landlock's file rules are on.
func (e Engine) Weaker(files bool) []string {
	switch e {
	case EngineNone:
		return []string{"there are no walls"}
	case EngineLandlock:
		return weakerAlone
	case EngineBubblewrap:
	default:
		return nil
	}
	out := []string{
		"a masked file that is replaced outside meanwhile is not masked again",
		"what is mounted outside meanwhile in a granted directory comes in, to be written as well",
		"nested levels are held by the system call filter, not by limits of the kernel",
		"another run in the same project could have an empty file made elsewhere while this one starts",
	}
	if !files {
		out = append(out, "the names of /run/carrel can be replaced inside")
	}
	return out
}

// weakerAlone is what [EngineLandlock] does not hide or has not.
var weakerAlone = []string{
	"names, sizes and times of files outside can be asked for, not their content",
	"that a process runs and whose it is can be seen, and nothing else of it",
	"/tmp, /var/tmp and /dev/shm are refused: TMPDIR is a private directory on the disk, and so is HOME",
	"the system's own accounts and settings in /etc are read as they are",
	"there are no Unix sockets, no terminals of the command's own, no System V memory, and no file is watched",
	"no sandbox can be made inside, and links do not reach your browser",
}

// limit is one row of the table: asked gives what the engine would have to hold,
// "" where that is not asked for.
type limit struct {
	dimension  policy.Dimension
	asked      func(*policy.Effective, *Plan) string
	why, right string
}

// limits is what engines cannot hold. What is in no row is held.
var limits = map[Engine][]limit{
	EngineBubblewrap: {
		{policy.DimHistory, draft, onlyOwnMounts, "--history on, and `carrel undo` afterwards"},
		{DimUser, rootUser, "bubblewrap leaves uid 0 its capabilities, and sysctl files check the uid", "run carrel as an ordinary user"},
		{policy.DimHistory, brokered, "the broker works in a copy of the mounts, which only who makes them can give it", "--history off"},
		{policy.DimNetwork, pool, "names need addresses on the loopback, which only who makes the network can give it", "--network local, closed or open"},
		{policy.DimNetwork, lowListener, "ports below 1024 need a privilege in the network that bubblewrap keeps", "a port from 1024 on"},
		{policy.DimNested, fullNesting, "what is mounted inside would not be held by Landlock and not be limited by the kernel", "--nested userns or none"},
		{policy.DimPrograms, limitedPrograms, "bubblewrap has no noexec mounts, so code in writable places could be loaded", "leave programs.allow out"},
		{policy.DimDevices, devices, "bubblewrap mounts a device writable, and its mode on the host could be changed", "leave --device out"},
		{policy.DimFiles, tooManyArguments, "bubblewrap takes 9,000 arguments, a rule needs up to five", "use fewer --deny and --protect matches"},
		{policy.DimFiles, tooManyDescriptors, "each masked or generated file is a descriptor of bubblewrap's", "use fewer --deny matches"},
	},
	EngineNone: {
		{policy.DimHistory, draft, onlyOwnMounts, "--history on, and `carrel undo` afterwards"},
		{policy.DimHistory, openRoot, "the changes of all the machine cannot be recorded", "--write with the directories that you mean, or --history off"},
	},
	EngineContainer: {
		{policy.DimHistory, draft, onlyOwnMounts, "--history on, and `carrel undo` afterwards"},
		{policy.DimPrograms, limitedPrograms, "programs are found on the host, and run from the image", "leave programs.allow out"},
		{policy.DimDevices, devices, "a container gets no device of the host's", "leave --device out"},
	},
	EngineLima: {
		{policy.DimHistory, draft, onlyOwnMounts, "--history on, and `carrel undo` afterwards"},
		{policy.DimHistory, noHistory, "what a machine changes of the project goes through the history", "--history on"},
		{policy.DimDisplay, anyDisplay, "a machine has no display", "--display none"},
		{policy.DimNested, nestedKept, "the machine's kernel has no filter of system calls", "leave --nested out"},
		{policy.DimPrograms, limitedPrograms, "programs are the machine's", "leave programs.allow out"},
		{policy.DimDevices, devices, "a machine gets no device of the host's", "leave --device out"},
		{policy.DimMemory, limitedMemory, "a machine has the memory of lima.memory", "set lima.memory in your configuration, and leave --memory out"},
		{policy.DimPids, countedProcesses, "they are processes of another kernel", "leave --pids out"},
	},
	EngineGvisor: {
		{policy.DimHistory, draft, onlyOwnMounts, "--history on, and `carrel undo` afterwards"},
		{policy.DimHistory, noHistory, "what a sandbox changes of the project goes through the history", "--history on"},
		{policy.DimNetwork, hostNetwork, "a sandbox has no network but its own loopback", "--network filtered, local or closed"},
		{policy.DimNetwork, socketOfHost, "a sandbox connects to no socket of this machine", "leave unix_sockets out"},
		{policy.DimDisplay, anyDisplay, "a sandbox has no display", "--display none"},
		{policy.DimNested, nestedKept, "the sandbox's kernel lets commands make namespaces and mounts of it", "leave --nested out"},
		{policy.DimPrograms, limitedPrograms, "no mount and no Landlock there keeps code from being loaded", "leave programs.allow out"},
		{policy.DimDevices, devices, "a sandbox gets no device of this machine", "leave --device out"},
		{policy.DimMemory, limitedMemory, "it is not limited yet", "leave --memory out"},
		{policy.DimPids, countedProcesses, "they are processes of another kernel", "leave --pids out"},
	},
	EngineVM: {
		{policy.DimHistory, draft, onlyOwnMounts, "--history on, and `carrel undo` afterwards"},
		{policy.DimHistory, noHistory, "what a machine changes of the project goes through the history", "--history on"},
		{policy.DimDisplay, anyDisplay, "a machine has no display", "--display none"},
		{policy.DimNetwork, socketOfHost, "a socket of this kernel is out of reach of another one", "leave unix_sockets out"},
		{policy.DimPrograms, limitedPrograms, "the machine's kernel is not told which programs may start", "leave programs.allow out"},
		{policy.DimDevices, devices, "a machine gets no device of the host's", "leave --device out"},
		{policy.DimMemory, limitedMemory, "a machine has the memory of vm.memory", "give --memory-mb, or vm.memory, in place of --memory"},
		{policy.DimPids, countedProcesses, "they are processes of another kernel", "leave --pids out"},
	},
	EngineLandlock: {
		{policy.DimHistory, draft, onlyOwnMounts, "--history on, and `carrel undo` afterwards"},
		{DimUser, rootUser, "root reaches around what is refused to be opened", "run carrel as an ordinary user"},
		{policy.DimNetwork, sharedNetwork, "a network of the command's own takes a namespace", "--network closed or open"},
		{policy.DimNetwork, socketOfHost, "Landlock tells no socket with a name from another, so that all are refused", "leave unix_sockets out"},
		{policy.DimDisplay, anyDisplay, "a display is a socket, and all with a name are refused", "--display none"},
		{policy.DimNested, nestedAsked, "Landlock refuses what a sandbox inside would write and mount", "--nested none"},
		{policy.DimPrograms, limitedPrograms, "there are no noexec mounts, so code in writable places could be loaded", "leave programs.allow out"},
		{policy.DimPids, countedProcesses, "without a user namespace of its own it would count all your processes", "leave --pids out"},
		{policy.DimFiles, decidedReads, "Landlock reads what it may be told to, and the broker would read everything", "do not deny by patterns what lies in what is written"},
		{policy.DimFiles, keptInWritable, "Landlock's rules add up: what may be written is written with all below it", "do not deny or protect what lies in it, or grant less for writing"},
		{policy.DimFiles, shownElsewhere, "without mounts a file is shown where it is and nowhere else", "grant it at its own path"},
	},
}

func rootUser(_ *policy.Effective, p *Plan) string { return when(p.UID == 0, "0") }

// onlyOwnMounts is why one engine alone holds a draft.
const onlyOwnMounts = "the layer over the project is mounted by carrel's own namespaces"

func draft(pol *policy.Effective, _ *Plan) string {
	return when(pol != nil && pol.History == policy.HistoryDraft, string(policy.HistoryDraft))
}

func brokered(_ *policy.Effective, p *Plan) string { return when(len(p.Roots) > 0, "on") }

func noHistory(pol *policy.Effective, _ *Plan) string {
	return when(pol.History == policy.HistoryOff, string(policy.HistoryOff))
}

func hostNetwork(pol *policy.Effective, _ *Plan) string {
	return when(pol.Network == policy.NetOpen, string(policy.NetOpen))
}

func limitedMemory(pol *policy.Effective, _ *Plan) string {
	return when(pol.Resources.Memory > 0, strconv.FormatInt(pol.Resources.Memory, 10))
}

func pool(_ *policy.Effective, p *Plan) string { return when(p.Pool, string(policy.NetFiltered)) }

func fullNesting(pol *policy.Effective, _ *Plan) string {
	return when(pol.Nested == policy.NestedFull, string(policy.NestedFull))
}

func limitedPrograms(_ *policy.Effective, p *Plan) string {
	return when(p.Landlock.Limited || len(p.NoExec) > 0, "allow")
}

func devices(pol *policy.Effective, _ *Plan) string {
	if len(pol.Devices) == 0 {
		return ""
	}
	return pol.Devices[0].V
}

// lowListener finds a port that only a privilege can listen on; those of a
// filtered network have a row of their own.
func lowListener(_ *policy.Effective, p *Plan) string {
	for _, l := range p.Listeners {
		if at, err := netip.ParseAddrPort(l.Address); err == nil && at.Port() < 1024 && !p.Pool {
			return fmt.Sprintf("port %d", at.Port())
		}
	}
	return ""
}

func when(is bool, subject string) string {
	if is {
		return subject
	}
	return ""
}
