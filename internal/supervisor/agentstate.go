package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"carrel/internal/api"
)

// agentStates are the words for how an agent stands, of which the last one takes the others back.
var agentStates = []string{api.TaskWorking, api.TaskWaiting, api.TaskDone, agentClear}

const agentClear = "clear"

// agentState is how the agent of a workspace stands, as it or its starter has said: "" where neither has.
// It is a word for people, and decides nothing.
type agentState struct {
	mu   sync.Mutex
	word string
}

func (s *agentState) get() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.word
}

// set takes a word, and says whether it is a new one.
func (s *agentState) set(word string) bool {
	if word == agentClear {
		word = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.word != word
	s.word = word
	return changed
}

// SetAgentState takes what the agent of the workspace says of itself. A word that is none of ours
// says nothing.
func (s *Server) SetAgentState(word string) {
	if s != nil && slices.Contains(agentStates, word) && s.agent.set(word) {
		s.Emit(api.Event{Kind: api.EventAgentState, Text: word})
		if s.cfg.AgentStands != nil {
			s.cfg.AgentStands(word)
		}
	}
}

func (a answerer) agentState(req api.Request) api.Reply {
	if !slices.Contains(agentStates, req.Mode) {
		return refusal(api.CodeRequest, req.Op, a.of.cfg.ID, fmt.Sprintf("there is no state %.40q of an agent", req.Mode), strings.Join(agentStates, ", "))
	}
	a.of.SetAgentState(req.Mode)
	return api.Reply{OK: true}
}
