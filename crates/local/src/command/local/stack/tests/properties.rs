use super::{QUEUE, stack_of};

#[test]
fn booleans_and_numbers_are_read_as_cloudformation_reads_them() {
    let source = QUEUE.replace(
        "Type: AWS::SQS::Queue",
        "Type: AWS::SQS::Queue, Properties: {FifoQueue: True, ContentBasedDeduplication: 'TRUE', DelaySeconds: '5.0'}",
    );
    let disabled = stack_of(&format!("{source}            Enabled: False\n            BatchSize: '9'\n"));
    let queue = &disabled.queues[0];
    assert_eq!(queue.name, "local-Q.fifo");
    let attributes =
        ["FifoQueue", "ContentBasedDeduplication", "DelaySeconds"].map(|name| &*queue.attributes[name]);
    assert_eq!(attributes, ["true", "true", "5"]);
    assert_eq!((disabled.mappings[0].enabled, disabled.mappings[0].batch_size), (false, 9));
    let numbers = QUEUE.replace("MemorySize: 512", "MemorySize: '512.0'").replace(
        "Type: AWS::SQS::Queue",
        "Type: AWS::SQS::Queue, Properties: {RedrivePolicy: {deadLetterTargetArn: !GetAtt Q.Arn, maxReceiveCount: '5.0'}}",
    );
    let stack = stack_of(&numbers);
    assert_eq!(stack.functions[0].memory_mb, 512);
    assert!(stack.queues[0].attributes["RedrivePolicy"].ends_with("\"maxReceiveCount\":5}"));
    assert!(stack_of(&format!("{QUEUE}            Enabled: on\n")).mappings[0].enabled);
}

#[test]
fn a_container_image_is_none_of_cargos() {
    for image in ["PackageType: Image", "ImageUri: x, PackageType: Image"] {
        let source = QUEUE.replace("MemorySize: 512", image).replace(", PackageType", "\n      PackageType");
        assert!(stack_of(&source).builds[0].is_image, "{image}");
    }
    let metadata = QUEUE.replace("{BuildProperties: {Binary: work}}", "{Dockerfile: Dockerfile}");
    assert!(stack_of(&metadata).builds[0].is_image);
    assert!(!stack_of(QUEUE).builds[0].is_image);
}
