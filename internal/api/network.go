package api

import "time"

// Connection is one attempt to reach something over the network, when it has
// ended or was refused: a line of the network's log. Host, Process, Method and
// Reason may hold bytes chosen by a hostile program: escape them before they
// reach a terminal.
type Connection struct {
	Time      time.Time     `json:"time"`
	Workspace string        `json:"workspace"`
	Project   string        `json:"project"`
	PID       int           `json:"pid,omitempty"`     // outside; 0 where it is not known
	Process   string        `json:"process,omitempty"` // the name that it has given itself
	Protocol  string        `json:"protocol"`          // connect, http, socks5, tcp, dns, host-port, publish
	Host      string        `json:"host"`
	Port      uint16        `json:"port,omitempty"`
	Address   string        `json:"address,omitempty"` // that was dialled
	Method    string        `json:"method,omitempty"`
	Decision  string        `json:"decision"` // allowed, refused or failed
	Code      string        `json:"code"`
	Rule      string        `json:"rule,omitempty"`
	Source    string        `json:"source,omitempty"`
	Reason    string        `json:"reason,omitempty"`
	Hint      string        `json:"hint,omitempty"`
	Delegated bool          `json:"delegated,omitempty"` // the host's own proxy resolved the name
	Sent      int64         `json:"sent"`
	Received  int64         `json:"received"`
	Duration  time.Duration `json:"duration_ns"`
}

// Published is a port inside that is reached on the host's loopback.
type Published struct {
	Inside uint16 `json:"inside"`
	Host   uint16 `json:"host"`
}
