package supervisor

// Process is one process as /proc shows it, for whoever knows what agents look
// like. Each text is "" where it cannot be read.
type Process struct {
	PID  int
	Name string // of /proc/PID/stat; a process can change its own
	Exe  string
	Argv []string
}
