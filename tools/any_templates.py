"""Writes templates/any/, a worker whose messages an app of any language gets over HTTP, from deploy/. Usage: any_templates.py [--check]"""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "templates" / "any"

# Each text is in the file once.
ECS = [
    (
        """  An SQS queue, an ECS Fargate service that processes its messages with redrive and scales by the backlog of each
  task, a dead-letter queue, and alarms.
""",
        """  An SQS queue, an ECS Fargate service of which redrive posts the messages to an app, and which scales by the backlog
  of each task, a dead-letter queue, and alarms.
""",
    ),
    ("[Cluster, Repository, ImageTag,", "[Cluster, Repository, ImageTag, AppUrl, RedriveImage,"),
    (
        "    Description: Name of the ECR repository with the image, in this account",
        "    Description: Name of the ECR repository with the image of the app, in this account",
    ),
    (
        "    Description: Tag of the image. Give each",
        "    Description: Tag of the image of the app. Give each",
    ),
    (
        "  Architecture:\n    Type: String\n",
        """  AppUrl:
    Type: String
    Default: http://127.0.0.1:8080/
    AllowedPattern: ^http://127\\.0\\.0\\.1:[0-9]{1,5}/.*$
    Description: Where the app listens, and the path that redrive posts messages to.
  RedriveImage:
    Type: String
    AllowedPattern: ^[a-z0-9][A-Za-z0-9._/:@-]{1,255}$
    Description: Image of the command redrive, with its registry and its tag. redrive's cli/Dockerfile builds it.
  Architecture:
    Type: String
""",
    ),
    ("    Description: Processor the image is built for.", "    Description: Processor that the image of the app is built for."),
    (
        '          Image: !Sub "${AWS::AccountId}.dkr.ecr.${AWS::Region}.${AWS::URLSuffix}/${Repository}:${ImageTag}"\n',
        """          Image: !Ref RedriveImage
          Command: [work, --queue, !Ref OrdersQueue, --http, !Ref AppUrl]
          # ECS starts the app first, and stops it when redrive has ended. redrive waits until it listens.
          DependsOn:
            - { ContainerName: app, Condition: START }
""",
    ),
    (
        "              awslogs-stream-prefix: orders\n",
        """              awslogs-stream-prefix: orders
        # It may write temporary files, so its file system is not read-only.
        - Name: app
          Image: !Sub "${AWS::AccountId}.dkr.ecr.${AWS::Region}.${AWS::URLSuffix}/${Repository}:${ImageTag}"
          Essential: true
          LinuxParameters: { InitProcessEnabled: true, Capabilities: { Drop: [ALL] } }
          Environment:
            - !If
              - IsIdempotent
              - { Name: IDEMPOTENCY_TABLE, Value: !Ref IdempotencyTable }
              - !Ref AWS::NoValue
          LogConfiguration:
            LogDriver: awslogs
            Options:
              awslogs-group: !Ref OrdersLogGroup
              awslogs-region: !Ref AWS::Region
              awslogs-stream-prefix: app
""",
    ),
]

KUBERNETES = [
    (
        "# A worker on Kubernetes, scaled by KEDA: `kubectl apply -f worker.k8s.yaml`.",
        "# An app that redrive posts messages to, on Kubernetes 1.29 or newer and scaled by KEDA: `kubectl apply -f worker.k8s.yaml`.",
    ),
    (
        """      # At least REDRIVE_DRAIN, and 5 for settling what handlers have finished.
      terminationGracePeriodSeconds: 30
""",
        """      # At least REDRIVE_DRAIN, 5 for settling what the app has finished, and 15 for the end of the app.
      terminationGracePeriodSeconds: 45
""",
    ),
    (
        """      containers:
        - name: orders
          image: ACCOUNT.dkr.ecr.REGION.amazonaws.com/orders:TAG
""",
        """      # As a sidecar container, the app starts before redrive, and ends after it.
      initContainers:
        - name: app
          image: ACCOUNT.dkr.ecr.REGION.amazonaws.com/orders:TAG
          restartPolicy: Always
          resources:
            requests: { cpu: 250m, memory: 128Mi }
            limits: { memory: 512Mi }
          securityContext:
            allowPrivilegeEscalation: false
            capabilities: { drop: [ALL] }
      containers:
        - name: orders
          # redrive's cli/Dockerfile builds it.
          image: ACCOUNT.dkr.ecr.REGION.amazonaws.com/redrive:TAG
          args: [work, --queue, $(REDRIVE_QUEUE_URL), --http, "http://127.0.0.1:8080/"]
""",
    ),
    ('value: ":8080"', 'value: ":9090"'),
    (
        """            - { name: REDRIVE_DRAIN, value: "25" }
""",
        """            - { name: REDRIVE_DRAIN, value: "25" }
            # In seconds. Without it, an app that hangs keeps its messages.
            - { name: REDRIVE_TIME_LIMIT, value: "300" }
""",
    ),
    (
        """          # Alive as long as polls end""",
        """          # redrive waits for the app itself, for up to 5 minutes.
          startupProbe:
            httpGet: { path: /livez, port: health }
            periodSeconds: 5
            failureThreshold: 66
          # Alive as long as polls end""",
    ),
    ("{ name: health, containerPort: 8080 }", "{ name: health, containerPort: 9090 }"),
]

FILES = {"worker.yaml": ECS, "worker.k8s.yaml": KUBERNETES}


def written(name: str) -> str:
    text = (ROOT / "deploy" / name).read_text()
    for old, new in FILES[name]:
        assert text.count(old) == 1, f"deploy/{name} has this {text.count(old)} times: {old}"
        text = text.replace(old, new)
    return text


def main(check: bool) -> int:
    changed = [name for name in FILES if not (TARGET / name).exists() or (TARGET / name).read_text() != written(name)]
    if check and changed:
        sys.exit(f"templates/any/: {', '.join(changed)} not as in deploy/: run `make templates`")
    for name in changed:
        (TARGET / name).write_text(written(name))
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
