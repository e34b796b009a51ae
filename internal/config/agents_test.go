package config

import (
	"strings"
	"testing"

	"carrel/internal/policy"
)

// TestAgentKeys: an agent's directory is the user's and the operator's to say; what a
// project says of its home is for the decision to judge.
func TestAgentKeys(t *testing.T) {
	const text = "network: local\nagent_home: shared\nagent_config_dir: ~/agents/{agent}\n"
	for _, kind := range []Kind{KindUser, KindOperator} {
		r, problems := decodeFile([]byte(text), "f", kind, Options{})
		if len(problems) > 0 || r.request.AgentHome == nil || r.request.AgentHome.V != policy.AgentHomeShared || r.settings.AgentConfigDir == nil || r.settings.AgentConfigDir.V != "~/agents/{agent}" {
			t.Errorf("%v: %v %+v", kind, problems, r)
		}
	}
	r, problems := decodeFile([]byte(text), "p", KindProject, Options{})
	if len(problems) > 0 || r.settings.AgentConfigDir != nil || r.request.Network == nil {
		t.Errorf("the project's: %v %+v", problems, r)
	}
	var said []string
	for _, w := range r.warnings {
		said = append(said, w.Source.String()+" "+w.Message)
	}
	if all := strings.Join(said, "\n"); !strings.Contains(all, "p:3") || !strings.Contains(all, "agent_config_dir") {
		t.Errorf("warnings: %s", all)
	}
	for text, want := range map[string]string{
		"agent_home: open":               "private",
		"agent_home: [shared]":           "f:1",
		"agent_config_dir: agents":       "neither an absolute path nor one in ~",
		"agent_config_dir: ~":            "",
		"agent_config_dir: '~'":          "directory of its own",
		"agent_config_dir: ~/{name}":     "{agent}",
		"agent_config_dir: ~/../{agent}": "..",
		"agent_config_dir: /":            "directory of its own",
	} {
		if _, problems := decodeFile([]byte(text), "f", KindUser, Options{}); len(problems) == 0 || !strings.Contains(problems.Error(), want) {
			t.Errorf("%s: %v", text, problems)
		}
	}
}
