import os
for i in range(25): os.chdir('d'*200)
print(open('deep/k.pem').read())
