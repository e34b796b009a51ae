package secrets

import (
	"slices"
	"strings"
)

// secretWords mark a variable as secret when one of them is a whole word of
// its name: words are separated by '_', '-' or '.'.
var secretWords = []string{
	"TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "PASSWRD", "PASS", "PWD",
	"PW", "CREDENTIAL", "CREDENTIALS", "CREDS", "CRED", "APIKEY", "APIKEYS", "AUTHTOKEN", "SESSION", "COOKIE", "COOKIES",
	"JWT", "PAT", "DSN", "BEARER", "KEYFILE", "PRIVKEY", "SECRETKEY", "ACCESSKEY", "PRIVATEKEY", "WEBHOOK", "OTP", "TOTP",
	"MNEMONIC", "NETRC", "KUBECONFIG", "KEYSTORE", "PSK", "SIGNATURE", "OAUTH", "AUTH", "KEY", "KEYS", "PEM", "PFX", "P12",
}

// secretParts mark a name wherever they stand, for names without separators
// ("MYAPPPASSWORD", "githubToken" in capitals).
var secretParts = []string{
	"PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "CREDENTIAL", "APIKEY", "API_KEY", "ACCESS_KEY", "ACCESSKEY",
	"PRIVATE_KEY", "PRIVATEKEY", "AUTHTOKEN", "ACCESSTOKEN", "APITOKEN", "CONNECTION_STRING", "CONNECTIONSTRING",
}

// secretPrefixes belong to programs whose whole set of variables is sensitive.
var secretPrefixes = []string{
	"AWS_", "AZURE_", "ARM_", "VAULT_", "OP_SESSION", "OP_SERVICE", "BW_", "GPG_", "TF_VAR_", "KEYCLOAK_",
	"ANTHROPIC_", "OPENAI_", "GEMINI_", "OPENROUTER_", "GOOGLE_APPLICATION", "SNOWFLAKE_", "DOPPLER_", "INFISICAL_",
}

// secretNames are whole names that no pattern catches: databases with the
// password in the address, and sockets that act with the user's keys.
var secretNames = []string{
	"DATABASE_URL", "DATABASE_URI", "DB_URL", "DB_URI", "REDIS_URL", "MONGO_URL", "MONGODB_URI", "MONGO_URI",
	"POSTGRES_URL", "POSTGRESQL_URL", "MYSQL_URL", "AMQP_URL", "RABBITMQ_URL", "CLOUDAMQP_URL", "ELASTICSEARCH_URL",
	"CELERY_BROKER_URL", "BROKER_URL", "SMTP_URL", "MAILER_URL", "SENTRY_DSN", "SQLALCHEMY_DATABASE_URI", "JDBC_URL",
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "GNOME_KEYRING_CONTROL", "SSH_ASKPASS", "GIT_ASKPASS",
	"SUDO_ASKPASS", "XAUTHORITY", "DOCKER_AUTH_CONFIG", "DOCKER_HOST", "NPM_CONFIG__AUTH", "NPM_CONFIG_USERCONFIG",
	"PGPASSFILE", "PGSERVICEFILE", "MYSQL_PWD", "PGPASSWORD", "SSHPASS", "KRB5CCNAME", "KRB5_KTNAME",
	"SLACK_WEBHOOK_URL", "DISCORD_WEBHOOK_URL", "INVOCATION_ID", "DBUS_SESSION_BUS_ADDRESS",
}

// harmlessNames look like secrets and are none.
var harmlessNames = []string{
	"PWD", "OLDPWD", "TOKENIZERS_PARALLELISM", "XDG_SESSION_TYPE", "XDG_SESSION_CLASS", "XDG_SESSION_DESKTOP",
	"DESKTOP_SESSION", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CA_BUNDLE", "AWS_PAGER", "AWS_DEFAULT_OUTPUT",
	"AWS_EC2_METADATA_DISABLED", "GPG_TTY", "MAX_TOKENS", "KEYS_TIMEOUT", "SSL_CERT_FILE", "PIP_KEYRING_PROVIDER",
	"APT_KEY_DONT_WARN_ON_DANGEROUS_USAGE",
}

// Variable tells whether the name of an environment variable looks like
// it holds a secret or opens the way to one. The case of name does not matter.
// It errs on the side of secret; it cannot know secrets under ordinary names.
func Variable(name string) bool {
	name = strings.ToUpper(name)
	if slices.Contains(harmlessNames, name) {
		return false
	}
	if slices.Contains(secretNames, name) {
		return true
	}
	for _, p := range secretPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	for _, p := range secretParts {
		if strings.Contains(name, p) {
			return true
		}
	}
	return hasSecretWord(name)
}

func hasSecretWord(name string) bool {
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		if slices.Contains(secretWords, strings.TrimRight(word, "0123456789")) || slices.Contains(secretWords, word) {
			return true
		}
	}
	return strings.HasSuffix(name, "TOKEN") || strings.HasSuffix(name, "_DSN")
}
