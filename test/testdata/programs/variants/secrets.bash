# Each part is one secret that lies in the project before the run, and one way to read it.
#= a private key under a name of deployments
#- setup
key > deploy_key; key RSA > deploy.key; key EC > prod-deploy-key
#- inside
all
#= a private key in PEM
#- setup
key | put tls/x.pem; key ENCRYPTED | put tls/y.pem
#- inside
show tls/*
#= a private key behind certificates
#- setup
{ for i in $(seq 2000); do echo '-----BEGIN CERTIFICATE-----'; echo MIIBfzCCASWgAwIBAgIUVd0; echo '-----END CERTIFICATE-----'; done; key; } > bundle.pem
#- inside
show bundle.pem
#= keys of ssh under their usual and other names
#- setup
for n in id_rsa id_ed25519 id_ed25519_work id_ecdsa.old id_rsa.bak id_ed25519_sk 'id_rsa (copy)' .ssh/work ssh/host_key; do key | put "$n"; done
#- inside
all
#= keys of other programs
#- setup
echo "AGE-SECRET-KEY-1$S" | put keys.txt; echo "AGE-SECRET-KEY-1$S" > my.agekey; key | put AuthKey_AB12.p8
printf 'PuTTY-User-Key-File-3: x\n%s\n' "$S" > k.ppk; printf -- '-----BEGIN PGP PRIVATE KEY BLOCK-----\n%s\n' "$S" > me.asc
printf '[Interface]\nPrivateKey = %s=\n' "${S}ABCDEFGHIJKLMNOPQRSTUVWXYZ" | put wg0.conf
{ echo client; echo '<key>'; key; echo '</key>'; } > office.ovpn
#- inside
all
#= key stores
#- setup
for n in a.p12 a.pfx release.jks upload.keystore x.kdbx; do echo "$S" > $n; done
#- inside
all
#= .npmrc
#- setup
echo "//registry.example.com/:_authToken=$S" | put .npmrc; echo "_auth = $S" | put a/.npmrc; echo "//r/:_password=\"$S\"" | put b/.npmrc
echo "npmAuthToken: \"$S\"" | put c/.yarnrc.yml
#- inside
all
#= .netrc and its like
#- setup
echo "machine x login y password $S" | tee .netrc _netrc .authinfo > /dev/null; echo "h:5432:d:u:$S" > .pgpass; echo "u:$S" > .htpasswd
#- inside
all
#= .pypirc and other registries
#- setup
printf '[pypi]\nusername = __token__\npassword = %s\n' "$S" > .pypirc; printf '[global]\nindex-url = https://u:%s@pypi.example.com/simple\n' "$S" > pip.conf
printf '{"http-basic": {"repo.example.com": {"username": "u", "password": "%s"}}}' "$S" > auth.json
printf '[registry]\ntoken = "%s"\n' "$S" | put .cargo/credentials.toml; printf -- '---\n:rubygems_api_key: %s\n' "$S" | put .gem/credentials
printf 'BUNDLE_GEMS__EXAMPLE__COM: "u:%s"\n' "$S" | put .bundle/config; printf '<settings><servers><server><password>%s</password></server></servers></settings>' "$S" > settings.xml
printf '<configuration><packageSourceCredentials><x><add key="ClearTextPassword" value="%s" /></x></packageSourceCredentials></configuration>' "$S" > NuGet.Config
#- inside
all
#= .git-credentials
#- setup
echo "https://u:$S@example.com" > .git-credentials
#- inside
show .git-credentials
#= clouds
#- setup
printf '[default]\naws_access_key_id = AKIAQ3EGRAB5S7WTL2ZX\naws_secret_access_key = %s\n' "$S" | put .aws/credentials
printf '[remote]\ntype = s3\nsecret_access_key = %s\n' "$S" > rclone.conf; printf '[default]\nsecret_key = %s\n' "$S" | tee .s3cfg .boto > /dev/null
printf '{"accessTokens": "%s", "accessToken": "%s"}' "$S" "$S" | put .azure/accessTokens.json
printf '{"username": "u", "key": "%s"}' "$S" | put .kaggle/kaggle.json; printf '{"type": "authorized_user", "client_secret": "%s", "refresh_token": "%s"}' "$S" "$S" > application_default_credentials.json
#- inside
all
#= clusters
#- setup
printf 'apiVersion: v1\nkind: Config\nusers:\n- name: a\n  user:\n    token: %s\n' "$S" | tee kubeconfig kubeconfig.yaml prod.kubeconfig > /dev/null
put .kube/config < kubeconfig; printf '{"auths": {"r.example.com": {"auth": "%s"}}}' "$S" | put .docker/config.json; cp .docker/config.json .dockerconfigjson
#- inside
all
#= the state of Terraform and its backups
#- setup
for n in terraform.tfstate terraform.tfstate.backup terraform.tfstate.1719999999.backup errored.tfstate prod.tfstate terraform.tfstate.d/eu/terraform.tfstate .terraform/terraform.tfstate; do echo "{\"password\": \"$S\"}" | put $n; done
#- inside
all
#= variables of Terraform
#- setup
printf 'db_password = "%s"\n' "$S" | tee prod.tfvars prod.auto.tfvars > /dev/null; printf '{"db_password": "%s"}' "$S" | tee x.tfvars.json x.auto.tfvars.json > /dev/null
#- inside
all
#= service accounts
#- setup
for n in service-account.json my-serviceaccount-prod.json gcp-key.json credentials.json client_secret_12.json app-firebase-adminsdk-x1-0a.json; do printf '{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\\n%s"}' "$S" > $n; done
#- inside
all
#= a service account by its project's name
#- setup
printf '{\n  "type": "service_account",\n  "private_key": "-----BEGIN PRIVATE KEY-----\\n%s"\n}' "$S" | tee my-project-123456-0a1b2c3d4e5f.json > sa.json
#- inside
show *.json
#= keys of frameworks
#- setup
echo "$S" | put config/master.key; printf '%s' "$S" | put config/credentials/production.key
printf 'api_key = "%s"\n' "$S" | tee secrets.toml > /dev/null; put .streamlit/secrets.toml < secrets.toml; printf 'production:\n  secret_key_base: %s\n' "$S" | tee config/secrets.yml secrets.yaml > /dev/null
printf '{"api_key": "%s"}' "$S" > secrets.json
#- inside
all
#= tokens of vaults
#- setup
printf 'hvs.%s%s%s%s%s' "$S" "$S" "$S" "$S" "$S" > .vault-token; echo "$S" | tee .vault_pass .vault-password vault_pass.txt > /dev/null
#- inside
all
#= environment files
#- setup
for n in .env .env.local .env.production .env.development.local .envrc .env.staging .dev.vars .flaskenv prod.env .env.prod .env.1; do echo "export API_TOKEN=$S" | put $n; done
#- inside
all
#= copies of an environment file
#- setup
for n in .env.bak .env~ .env.old .env.save .env.orig .env.swp '#.env#' '.env (copy)' '.env copy' .env.backup .env.20240101 .env.bak2 .env.1~; do echo "API_TOKEN=$S" | put "$n"; done
#- inside
all
#= other letters of an environment file
#- setup
for n in .ENV .Env .env.LOCAL .NPMRC ID_RSA TERRAFORM.TFSTATE X.PEM .NetRC; do { echo "API_TOKEN=$S"; echo "//r/:_authToken=$S"; key; } > $n; done
#- inside
all
#= names that are no text
#- setup
for n in $'a\n.env' $'\xff.env' $'d\n/.env' $'d\xff\xfe/.env' $'\x01.pem' $'-n/.env' $' /.env' $'.env.\xff'; do { echo "API_TOKEN=$S"; key; } | put "./$n"; done
#- inside
all
#= in a directory without permissions
#- setup
echo "TOKEN=$S" | put shut/a/.env; chmod 0 shut/a; chmod 0 shut
#- inside
[ "$WALLS" ] || chmod -R u+rwx shut; chmod 700 shut; chmod 700 shut/a; show shut/a/.env
#= without permissions itself
#- setup
echo "TOKEN=$S" > .env; chmod 0 .env
#- inside
chmod 600 .env; show .env
#= in what git ignores
#- setup
repo; echo 'local/' > .gitignore; echo '.env' >> .gitignore; echo "TOKEN=$S" | put local/x/.env; echo "TOKEN=$S" > .env
#- inside
show local/x/.env .env
#= among many files
#- setup
mkdir many; (cd many; seq 20000 | xargs touch); echo "TOKEN=$S" > many/.env
#- inside
show many/.env
#= below many directories
#- setup
d=$(printf 'd/%.0s' {1..150}); echo "TOKEN=$S" | put "$d.env"
#- inside
find . -name .env -exec cat {} +
#= deeper than a path can name
#- setup
py '
n = "n" * 200
for i in range(30):
    os.mkdir(n); os.chdir(n)
open(".env", "w").write(os.environ["S"])'
#- inside
py '
for i in range(30): os.chdir("n" * 200)
print(open(".env").read())'
#= a link by the name of a secret
#- setup
echo "TOKEN=$S" | put conf/production; ln -s conf/production .env
#- inside
show .env
#= a link to a directory of secrets
#- setup
echo "TOKEN=$S" | put conf/.env; ln -s conf other; ln -s .env conf/b
#- inside
show other/.env conf/b
#= a hard link under two such names
#- setup
echo "TOKEN=$S" > .env; ln .env .env.local; mkdir a; ln .env a/.env
#- inside
show .env .env.local a/.env
#= beside a grant of the directory
#- setup
echo "TOKEN=$S" > .env; mkdir w
#- inside
cd w; show ../.env
#= renamed, copied, linked, packed
#- setup
echo "TOKEN=$S" > .env
#- inside
cp .env a; ln .env b; ln -s .env c; tar cf - .env; mv .env d; cat a b c d .env; dd if=.env; rsync .env e; cat e; install .env f; cat f; zip - .env; cpio -o <<< .env
#= its directories renamed
#- setup
echo "TOKEN=$S" | put a/b/c/.env; mkdir node_modules testdata
#- inside
mv a/b x; mv a y; mv a node_modules/a; mv a/b testdata/b; cp -al a z; find . -name .env -exec cat {} +
#= exchanged
#- setup
echo "TOKEN=$S" | put a/.env; mkdir b
#- inside
py '
for x, y in ((b"a", b"b"), (b"a/.env", b"b/x")):
    open("b/x", "w").close(); L.renameat2(-100, x, -100, y, 2)'
all
#= added to git
#- setup
repo; echo "TOKEN=$S" > .env; echo a > a; git add a
#- inside
git add -f .env; git stash -u; git stash show -p --include-untracked; git show :.env; git hash-object -w .env; git diff --no-index /dev/null .env; git archive --add-file=.env HEAD | strings
#= through the names of proc
#- setup
echo "TOKEN=$S" > .env
#- inside
cat "/proc/self/root$PWD/.env" /proc/self/cwd/.env "/proc/$$/root$PWD/.env" "/proc/1/root$PWD/.env" /proc/1/cwd/.env; exec 3< .; cat /proc/self/fd/3/.env /dev/fd/3/.env; sh -c 'cat /proc/$PPID/cwd/.env'
#= by descriptors without a name
#- setup
echo "TOKEN=$S" > .env
#- inside
py '
print(os.getcwd())
for flags in (os.O_RDONLY, os.O_RDWR, os.O_WRONLY, os.O_PATH, os.O_PATH | os.O_NOFOLLOW, os.O_RDWR | os.O_APPEND):
    try: f = os.open(".env", flags)
    except OSError as e: print(e); continue
    for again in (os.O_RDONLY, os.O_RDWR):
        try: print(os.read(os.open("/proc/self/fd/%d" % f, again), 999))
        except OSError as e: print(e)
    try: os.link("/proc/self/fd/%d" % f, "n%d" % flags, follow_symlinks=True)
    except OSError as e: print(e)'
cat n*
#= by calls that copy
#- setup
echo "TOKEN=$S" > .env
#- inside
py '
def tried(what):
    try: what()
    except OSError as e: print(e)
def sent():
    f = os.open(".env", os.O_RDONLY); os.sendfile(1, f, 0, 999)
def spliced():
    f = os.open(".env", os.O_RDONLY); r, w = os.pipe(); os.splice(f, w, 999); print(os.read(r, 999))
def mapped():
    f = os.open(".env", os.O_RDONLY); print(mmap.mmap(f, 0, prot=mmap.PROT_READ)[:])
def copied():
    f = os.open(".env", os.O_RDONLY); t = os.open("t", os.O_RDWR | os.O_CREAT); os.copy_file_range(f, t, 999); print(open("t").read())
for w in sent, spliced, mapped, copied: tried(w)'
#= by the file handle
#- setup
echo "TOKEN=$S" > .env
#- inside
py '
b = ctypes.create_string_buffer(200); b[0:4] = (128).to_bytes(4, "little"); m = ctypes.c_int()
print(L.name_to_handle_at(-100, b".env", b, ctypes.byref(m), 0), ctypes.get_errno())
f = L.open_by_handle_at(os.open(".", os.O_RDONLY), b, os.O_RDONLY)
print(f, ctypes.get_errno())
f >= 0 and print(os.read(f, 999))
os.system("cat .env") if not os.environ.get("WALLS") else 0'
#= by new namespaces and mounts
#- setup
echo "TOKEN=$S" | put a/.env
#- inside
unshare -Urm sh -c 'umount -l a/.env; umount a/.env; cat a/.env; mkdir t; mount --bind a t; cat t/.env; mount --rbind / t; cat "t$PWD/a/.env"; mount -t overlay -o lowerdir=a,upperdir=/tmp,workdir=/tmp x t; cat t/.env'
[ "$WALLS" ] || cat a/.env
#= as its owner and with attributes
#- setup
echo "TOKEN=$S" > .env; chmod 400 .env
#- inside
chmod 666 .env; chown "$(id -u)" .env; setfacl -m o::r .env; chattr -i .env; cat .env; sudo -n cat .env
#= a tool of the host's own
#- setup
echo "TOKEN=$S" > .env
#- inside
bash -c '. ./.env; echo $TOKEN'; env -S "$(cat .env)"; grep -r . .; perl -ne print .env; awk 1 .env; python3 -c 'print(open(".env").read())'; find . -name .env -size +0 -exec cat {} +; sed -n p .env; source .env; echo "$TOKEN"; cat < .env
#= a password in the remote of a repository
#- setup
repo; git remote add o "https://u:$S@example.com/x"; repo sub/n; git -C sub/n remote add o "https://$S@example.com/y"
#- inside
cat .git/config sub/n/.git/config; git remote -v; git -C sub/n remote get-url o; git config --list; cp -r .git g; cat g/config; git worktree add -q w; git -C w remote -v
#= a password in the configuration of a submodule
#- setup
repo lib; repo; git -c protocol.file.allow=always submodule -q add ./lib m; git -C m remote set-url origin "https://x-access-token:$S@example.com/z"
#- inside
cat .git/modules/m/config; git -C m remote -v; git submodule foreach git remote -v; mv .git/modules/m x; cat x/config
#= a header with a token
#- setup
repo; git config http.https://example.com/.extraHeader "AUTHORIZATION: basic $S"; git config -f .git/more remote.o.url "https://u:$S@example.com/"; git config include.path more
#- inside
cat .git/config .git/more; git config --list
#= command lines of other programs
#- setup
echo "{\"token\": {\"access_token\": \"$S\"}}" > .clasprc.json; printf '[auth]\ntoken=%s\n' "$S" > .sentryclirc; printf '[DEFAULT]\nhost = x\ntoken = %s\n' "$S" > .databrickscfg
printf '[client]\nuser=u\npassword=%s\n' "$S" > .my.cnf; printf 'credentials "app.terraform.io" {\n  token = "%s"\n}\n' "$S" > .terraformrc
printf '{"credentials": {"app.terraform.io": {"token": "%s"}}}' "$S" | put .terraform.d/credentials.tfrc.json; printf '{"current": "x", "accessTokens": {"x": "%s"}}' "$S" | put .pulumi/credentials.json
#- inside
all
